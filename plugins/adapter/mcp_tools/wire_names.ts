import { sha256 } from '../../../core/system/index.js'

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
