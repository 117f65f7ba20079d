import { sha256 } from '../../../core/system/index.js'
import type { AdapterContext, Contribution, Layer } from '../../../core/index.js'
import { findDefinition } from '../mcp_client/definition.js'

/** A tool of a server, with a unique id. */
export interface NamedTool {
  /** `docs`, or `plugin_<plugin>_<server>` for a server of a package. */
  server: string
  tool: string
  id: string
}
/** The name of a tool on the wire, and the full name for rules where it was shortened. */
export interface WireName {
  name: string
  whole?: string
}

const MAX_NAME_CHARS = 64
/** The fewest characters left of a server name: eight digits of its hash. */
const MIN_SERVER_CHARS = 8

/** The layers in the order in which their servers keep a name that two share. */
const LAYERS: readonly Layer[] = ['builtin', 'admin', 'call', 'user', 'workspace']

/**
 * Returns the name of each server in the names of its tools: `docs`, or `plugin_<plugin>_<server>` for a package. Rules
 * name a server by it, so a server of a repository with the same name gets another one.
 */
export function assignServerNames(
  contributions: readonly Contribution[],
  adapterContext: AdapterContext,
): Map<Contribution, string> {
  const wanted = contributions.flatMap((one) => {
    const found = findDefinition(one, adapterContext)
    if (!found || one.manifest.mcp!['tool'] !== undefined) return []
    const name = one.plugin === one.layer ? found.server : `plugin_${one.plugin}_${found.server}`
    return [{ one, name, plain: toPlainName(name) }]
  })
  const rank = ({ one, name, plain }: (typeof wanted)[number]): number =>
    LAYERS.indexOf(one.layer) * 2 + Number(name !== plain)
  wanted.sort((a, b) => rank(a) - rank(b) || (a.one.id < b.one.id ? -1 : 1))
  const taken = new Set<string>()
  return new Map(
    wanted.map(({ one, plain }) => {
      const unique = taken.has(plain) ? `${plain}_${sha256(one.id).slice(0, 8)}` : plain
      taken.add(unique)
      return [one, unique]
    }),
  )
}

/** Returns the name of a tool on the wire. A name that looks like one of another server gets digits of its hash. */
export function toOwnToolName(server: string, tool: string, others: readonly string[]): string {
  const isLikeOther = others.some(
    (other) => other.startsWith(`${server}__`) && toPlainName(`${server}__${tool}`).startsWith(`${other}__`),
  )
  return isLikeOther ? `${tool.replace(/_{2,}/g, '_')}_${sha256(tool).slice(0, 8)}` : tool
}

/**
 * Assigns every tool a name that models and wires accept: `mcp__<server>__<tool>`. If it is too long, the server name
 * is cut and ends in digits of its hash; the tool name stays while there is room. All similar names end in digits of
 * the hash of their id, so no name depends on the order.
 */
export function assignWireNames(tools: readonly NamedTool[]): WireName[] {
  const names = tools.map(({ server, tool }) => ({
    whole: toPlainName(`mcp__${server}__${tool}`),
    short: shortenName(toPlainName(server), toPlainName(tool)),
  }))
  const alike = new Map<string, number>()
  for (const { short } of names) alike.set(toComparable(short), (alike.get(toComparable(short)) ?? 0) + 1)
  return names.map(({ whole, short }, at) => {
    const name =
      short.length <= MAX_NAME_CHARS && alike.get(toComparable(short)) === 1 ? short : appendHash(short, tools[at]!.id)
    return { name, ...(name !== whole && whole.length > MAX_NAME_CHARS && { whole }) }
  })
}

const toPlainName = (text: string): string => text.replace(/[^A-Za-z0-9_-]/g, '_')
const toComparable = (name: string): string => name.toLowerCase().replace(/[-_]/g, '')

function shortenName(server: string, tool: string): string {
  const room = MAX_NAME_CHARS - 'mcp____'.length - tool.length
  if (server.length <= room || room < MIN_SERVER_CHARS) return `mcp__${server}__${tool}`
  const digits = sha256(server).slice(0, MIN_SERVER_CHARS)
  // The hash makes the prefix `plugin_` unnecessary.
  const head = server
    .replace(/^plugin_/, '')
    .slice(0, Math.max(0, room - MIN_SERVER_CHARS - 1))
    .replace(/[-_]+$/, '')
  return `mcp__${head === '' ? digits : `${head}_${digits}`}__${tool}`
}

const appendHash = (name: string, id: string): string =>
  `${name.slice(0, MAX_NAME_CHARS - 9)}_${sha256(id).slice(0, 8)}`
