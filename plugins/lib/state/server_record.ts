import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'

const MAX_BYTES = 64 * 1_048_576
/** Names that were ever offered count: a tool that disappears and returns keeps its consent. */
const MAX_TOOLS = 2_000
const MAX_NOTES = 20
const NOTE_LIFETIME_MS = 24 * 60 * 60_000

/**
 * Tool as its server lists it. The tool without a name stands for the server; its description holds the instructions.
 */
export interface ServerTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly [member: string]: unknown
}
export interface ServerPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly { name: string; description?: string; required?: boolean }[]
}
/** Current offers of a server. */
export interface ServerOffers {
  readonly tools: readonly ServerTool[]
  readonly prompts: readonly ServerPrompt[]
  readonly resources: boolean
  readonly instructions: string
  /** Unusable entries, each with the entry and the field. */
  readonly faults: readonly string[]
}
interface State extends Omit<ServerOffers, 'tools' | 'instructions'> {
  readonly version: 2
  readonly server: string
  /** Tools as first listed, by name: the user consented to these. */
  readonly agreed: ServerTool[]
  /** Names of the last list. */
  readonly offered: string[]
  /** Listed tools that differ from the version with consent. */
  readonly changed: ServerTool[]
}
/** Misbehaviour of a server, and its time. */
export interface ServerNote {
  readonly at: number
  readonly what: string
}
/** Tool in the version with consent, and in its current version. */
export interface ServerChange {
  readonly before: ServerTool
  readonly after: ServerTool
}

/**
 * Record of a server for the time when it is not running: its tools in the version that the user consented to with
 * the server. Later additions are included; changes wait for consent.
 */
export class ServerRecord {
  constructor(
    readonly server: string,
    readonly file: string,
  ) {}

  /** Checks whether the server has listed its tools before. */
  get isKnown(): boolean {
    return unsaved.has(this.file) || existsSync(this.file)
  }

  /** Opens the record of a server with a name and a key. */
  static open(home: string, server: string, key: string): ServerRecord {
    return new ServerRecord(
      server,
      join(home, FOLDER, `${server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}-${key.slice(0, 12)}.json`),
    )
  }

  /** Returns every record. */
  static list(home: string): ServerRecord[] {
    const files = listNames(join(home, FOLDER)).filter((name) => name.endsWith('.json') && !/\.\w+\.json$/.test(name))
    return files.flatMap((name) => {
      const file = join(home, FOLDER, name)
      const state = readState(file)
      return state ? [new ServerRecord(state.server, file)] : []
    })
  }

  /** Returns the path of a further file about the server. */
  resolveSibling(name: string): string {
    return this.file.replace(/json$/, `${name}.json`)
  }

  /** Returns the last offers in the version with consent; `undefined` for a server that never listed any. */
  get offers(): ServerOffers | undefined {
    const state = readState(this.file)
    if (!state) return undefined
    const offered = new Set(state.offered)
    const instructions = state.agreed.find(({ name }) => name === '')?.description ?? ''
    return { ...state, tools: state.agreed.filter(({ name }) => name !== '' && offered.has(name)), instructions }
  }

  get changes(): ServerChange[] {
    const { agreed = [], changed = [] } = readState(this.file) ?? {}
    return changed.flatMap((after) => {
      const before = agreed.find(({ name }) => name === after.name)
      return before ? [{ before, after }] : []
    })
  }

  /** Records the current list of the server. Returns the names that are new since the first list. */
  update({ tools, instructions, ...offers }: ServerOffers): string[] {
    const state = readState(this.file)
    const agreed = new Map(state?.agreed.map((tool) => [tool.name, tool]))
    const all = [...(instructions === '' ? [] : [{ name: '', description: instructions }]), ...tools]
    const fresh = all.filter(({ name }) => !agreed.has(name)).slice(0, Math.max(0, MAX_TOOLS - agreed.size))
    for (const tool of fresh) agreed.set(tool.name, tool)
    const changed = all.filter((tool) => agreed.has(tool.name) && hashTool(agreed.get(tool.name)!) !== hashTool(tool))
    const next: State = {
      version: 2,
      server: this.server,
      agreed: [...agreed.values()],
      offered: all.map(({ name }) => name),
      changed,
      ...offers,
    }
    if (JSON.stringify(next) !== JSON.stringify(state)) save(this.file, next)
    return state ? fresh.map(({ name }) => name) : []
  }

  /** Records consent to changed tools. */
  accept(changes: readonly ServerChange[] = this.changes): void {
    const state = readState(this.file)
    if (!state) return
    const after = new Map(changes.map((change) => [change.after.name, change.after]))
    save(this.file, {
      ...state,
      agreed: state.agreed.map((tool) => after.get(tool.name) ?? tool),
      changed: state.changed.filter(({ name }) => !after.has(name)),
    })
  }

  /** Recent misbehaviour. */
  get notes(): ServerNote[] {
    const { notes } = (readJson(this.resolveSibling('notes')) ?? {}) as { notes?: unknown }
    const all = Array.isArray(notes) ? (notes as ServerNote[]) : []
    return all.filter(
      (note) => typeof note.what === 'string' && typeof note.at === 'number' && Date.now() - note.at < NOTE_LIFETIME_MS,
    )
  }
  addNote(what: string): void {
    const others = this.notes.filter((note) => note.what !== what)
    save(this.resolveSibling('notes'), { notes: [...others, { at: Date.now(), what }].slice(-MAX_NOTES) })
  }
  clearNotes(): void {
    rmSync(this.resolveSibling('notes'), { force: true })
  }
}

const FOLDER = 'mcp'

/** Returns a digest of every part of a tool that a model or a caller can see. */
export const hashTool = ({ name, title, description, inputSchema, outputSchema, annotations }: ServerTool): string =>
  sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations]))

/** Formats a tool as lines for a comparison. */
export function formatTool({ name, description = '', ...rest }: ServerTool): string {
  const members = ['title', 'inputSchema', 'outputSchema', 'annotations'].filter((member) => rest[member] !== undefined)
  return [
    ...(name === '' ? [] : [`name: ${name}`]),
    description,
    ...members.map((member) => `${member}: ${JSON.stringify(rest[member], null, 2)}`),
    '',
  ].join('\n')
}

function readState(file: string): State | undefined {
  const state = readJson(file)
  const isState =
    state?.['version'] === 2 &&
    typeof state['server'] === 'string' &&
    ['agreed', 'offered', 'changed', 'prompts', 'faults'].every((member) => Array.isArray(state[member]))
  return isState ? (state as unknown as State) : undefined
}

function readJson(file: string): JsonObject | undefined {
  if (unsaved.has(file)) return unsaved.get(file) as JsonObject
  try {
    const value: unknown = JSON.parse(readBytes(file, { limit: MAX_BYTES }).toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** Records that could not be written to disk, by file. */
const unsaved = new Map<string, object>()

function save(file: string, state: object): void {
  try {
    writeStateSync(file, JSON.stringify(state), { durable: false })
    unsaved.delete(file)
  } catch {
    unsaved.set(file, state)
  }
}

function listNames(path: string): string[] {
  try {
    return readdirSync(path).sort()
  } catch {
    return []
  }
}
