import { lstatSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { makeFolder } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'

/** The parts of a plugin that an entry of a marketplace may list. */
const PART_KEYS = ['skills', 'commands', 'agents', 'hooks', 'mcpServers'] as const
const FACT_KEYS = ['name', 'version', 'description', 'license', 'homepage']
const PLUGIN_FILE = '.claude-plugin/plugin.json'
const MAX_BYTES = 1_048_576

/**
 * Returns the parts that an entry of a marketplace lists for its plugin; nothing for an entry that lists none. Format:
 * `strict` and the parts of an entry in `marketplace.json` of Claude Code.
 */
export function readListedParts(entry: JsonObject): JsonObject | undefined {
  if (!PART_KEYS.some((key) => isPart(entry[key]))) return undefined
  const parts = PART_KEYS.filter((key) => isPart(entry[key]))
  const facts = FACT_KEYS.filter((key) => typeof entry[key] === 'string')
  const kept = [...facts, ...parts].map((key) => [key, entry[key]] as const)
  return { ...Object.fromEntries(kept), ...(entry['strict'] === false && { strict: false }) }
}

const isPart = (value: unknown): boolean => typeof value === 'string' || (typeof value === 'object' && value !== null)

/**
 * Writes the parts of an entry into the `plugin.json` of a fetched plugin, before anybody is asked for consent. With
 * `strict: false` they are the whole plugin; otherwise they are added to its own parts. Returns the reason if the file
 * cannot be written; without parts, does nothing.
 */
export function writeListedParts(root: string, listed: JsonObject | undefined): string | undefined {
  if (!listed) return undefined
  const folder = join(root, '.claude-plugin')
  const stat = lstatSync(folder, { throwIfNoEntry: false })
  if (stat && !stat.isDirectory()) return `${folder} is not a folder`
  makeFolder(folder, 0o700)
  const file = join(root, PLUGIN_FILE)
  try {
    const own = listed['strict'] === false ? undefined : readOwnManifest(file)
    rmSync(file, { force: true })
    writeFileSync(file, `${JSON.stringify(own ? joinParts(own, listed) : listed, null, 2)}\n`, { flag: 'wx' })
    return undefined
  } catch (error) {
    return `${PLUGIN_FILE} cannot be used: ${(error as Error).message}`
  }
}

/** Reads the own manifest of a plugin; an empty one where the file is missing. Throws for an unusable file. */
function readOwnManifest(file: string): JsonObject {
  if (!lstatSync(file, { throwIfNoEntry: false })) return {}
  const text = readBytes(file, { limit: MAX_BYTES }).toString('utf8')
  const own: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
  if (isObject(own)) return own
  throw new Error('the document is not an object')
}

/** The usual places of parts that a manifest does not list. Folders of skills and agents are always searched. */
const USUAL_PLACES: Record<string, string[]> = {
  commands: ['commands'],
  hooks: ['hooks/hooks.json'],
  mcpServers: ['.mcp.json'],
}

function joinParts(own: JsonObject, listed: JsonObject): JsonObject {
  const both = PART_KEYS.filter((key) => key in listed).map((key) => {
    const before = own[key] === undefined ? (USUAL_PLACES[key] ?? []) : [own[key]].flat()
    return [key, [...before, listed[key]].flat()] as const
  })
  return { ...listed, ...own, ...Object.fromEntries(both) }
}
