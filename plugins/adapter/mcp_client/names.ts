import { sha256 } from '../../../core/base/index.js'

/** A tool of a server with the id that nobody else has. */
export interface Named {
  /** `docs`, or `plugin_<plugin>_<server>` for one that a package brings. */
  server: string
  tool: string
  id: string
}

const MAX = 64

/**
 * A name for every tool that models and wires accept: `mcp__<server>__<tool>`. Names that are too long, or that could be taken for one
 * another, end in a piece of the hash of their id, all of them: which name a tool gets never depends on the order.
 */
export function wireNames(tools: readonly Named[]): string[] {
  const plain = tools.map(({ server, tool }) => `mcp__${server}__${tool}`.replace(/[^A-Za-z0-9_-]/g, '_'))
  const alike = new Map<string, number>()
  for (const name of plain) alike.set(look(name), (alike.get(look(name)) ?? 0) + 1)
  return plain.map((name, at) => (name.length <= MAX && alike.get(look(name)) === 1 ? name : hashed(name, tools[at]!.id)))
}

const look = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

const hashed = (name: string, id: string): string => `${name.slice(0, MAX - 9)}_${sha256(id).slice(0, 8)}`
