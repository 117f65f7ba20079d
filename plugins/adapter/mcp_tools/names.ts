import { sha256 } from '../../../core/system/index.js'

/** A tool of a server with the id that nobody else has. */
export interface Named {
  /** `docs`, or `plugin_<plugin>_<server>` for one that a package brings. */
  server: string
  tool: string
  id: string
}
/** What wires call a tool, and what rules call it beside that. */
export interface WireName {
  name: string
  whole?: string
}

const MAX = 64
/** What is left of the name of a server at least: eight digits of its hash. */
const LEAST = 8

/**
 * A name for every tool that models and wires accept: `mcp__<server>__<tool>`. Where that is too long the name of the server is cut, and
 * ends in a piece of its hash; the tool keeps its own as far as there is room. Names that could be taken for one another end in a piece of
 * the hash of their id, all of them: which name a tool gets never depends on the order.
 */
export function wireNames(tools: readonly Named[]): WireName[] {
  const names = tools.map(({ server, tool }) => ({
    whole: plain(`mcp__${server}__${tool}`),
    short: fitted(plain(server), plain(tool)),
  }))
  const alike = new Map<string, number>()
  for (const { short } of names) alike.set(look(short), (alike.get(look(short)) ?? 0) + 1)
  return names.map(({ whole, short }, at) => {
    const name = short.length <= MAX && alike.get(look(short)) === 1 ? short : hashed(short, tools[at]!.id)
    return { name, ...(name !== whole && whole.length > MAX && { whole }) }
  })
}

const plain = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')
const look = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

function fitted(server: string, tool: string): string {
  const room = MAX - 'mcp____'.length - tool.length
  if (server.length <= room || room < LEAST) return `mcp__${server}__${tool}`
  const digits = sha256(server).slice(0, LEAST)
  // That a package brings it says the hash as well as the word.
  const head = server
    .replace(/^plugin_/, '')
    .slice(0, Math.max(0, room - LEAST - 1))
    .replace(/[-_]+$/, '')
  return `mcp__${head === '' ? digits : `${head}_${digits}`}__${tool}`
}

const hashed = (name: string, id: string): string => `${name.slice(0, MAX - 9)}_${sha256(id).slice(0, 8)}`
