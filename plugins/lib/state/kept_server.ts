import { existsSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { sha256, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'

const most = 64 * 1_048_576
/** Each name that was ever offered counts: one that goes and comes back is still what was agreed to. */
const mostKept = 2_000
const mostNotes = 20
const noted_ms = 24 * 60 * 60_000

/** A tool as its server lists it; the one without a name is the server, whose description is its instructions. */
export interface KeptTool {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly [member: string]: unknown
}
export interface KeptPrompt {
  readonly name: string
  readonly title?: string
  readonly description?: string
  readonly arguments?: readonly { name: string; description?: string; required?: boolean }[]
}
/** What a server offers now. */
export interface ServerOffers {
  readonly tools: readonly KeptTool[]
  readonly prompts: readonly KeptPrompt[]
  readonly resources: boolean
  readonly instructions: string
  /** What of it cannot be used, each with the entry and the field. */
  readonly faults: readonly string[]
}
interface State extends Omit<ServerOffers, 'tools' | 'instructions'> {
  readonly version: 2
  readonly server: string
  /** As first listed, by name: the user agreed to these. */
  readonly agreed: KeptTool[]
  /** The names that were listed last. */
  readonly offered: string[]
  /** What is listed now and is not what was agreed to. */
  readonly changed: KeptTool[]
}
/** What a server did that it should not, and when. */
export interface ServerNote {
  readonly at: number
  readonly what: string
}
/** A tool, as it was agreed to and as it is now. */
export interface ServerChange {
  readonly before: KeptTool
  readonly after: KeptTool
}

/**
 * What is known of a server while it is not running: its tools, as the user agreed to them by agreeing to the server. What the server
 * adds later belongs to it; what it changes waits until somebody agrees.
 */
export class KeptServer {
  constructor(
    readonly server: string,
    readonly file: string,
  ) {}

  /** It has listed something before. */
  get isKnown(): boolean {
    return unsaved.has(this.file) || existsSync(this.file)
  }

  /** Of a server by this name and with this key. */
  static of(home: string, server: string, key: string): KeptServer {
    return new KeptServer(
      server,
      join(home, folder, `${server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)}-${key.slice(0, 12)}.json`),
    )
  }

  /** All that are kept. */
  static all(home: string): KeptServer[] {
    const files = names(join(home, folder)).filter((name) => name.endsWith('.json') && !/\.\w+\.json$/.test(name))
    return files.flatMap((name) => {
      const file = join(home, folder, name)
      const state = stateIn(file)
      return state ? [new KeptServer(state.server, file)] : []
    })
  }

  /** The file beside it for something else about the same server. */
  beside(name: string): string {
    return this.file.replace(/json$/, `${name}.json`)
  }

  /** What was agreed to of what was offered last; nothing of a server that never listed anything. */
  get offers(): ServerOffers | undefined {
    const state = stateIn(this.file)
    if (!state) return undefined
    const offered = new Set(state.offered)
    const instructions = state.agreed.find(({ name }) => name === '')?.description ?? ''
    return { ...state, tools: state.agreed.filter(({ name }) => name !== '' && offered.has(name)), instructions }
  }

  get changes(): ServerChange[] {
    const { agreed = [], changed = [] } = stateIn(this.file) ?? {}
    return changed.flatMap((after) => {
      const before = agreed.find(({ name }) => name === after.name)
      return before ? [{ before, after }] : []
    })
  }

  /** Takes up what the server lists now. Answers with the names that are new since the first list. */
  take({ tools, instructions, ...offers }: ServerOffers): string[] {
    const state = stateIn(this.file)
    const agreed = new Map(state?.agreed.map((tool) => [tool.name, tool]))
    const all = [...(instructions === '' ? [] : [{ name: '', description: instructions }]), ...tools]
    const fresh = all.filter(({ name }) => !agreed.has(name)).slice(0, Math.max(0, mostKept - agreed.size))
    for (const tool of fresh) agreed.set(tool.name, tool)
    const changed = all.filter(
      (tool) => agreed.has(tool.name) && toolDigest(agreed.get(tool.name)!) !== toolDigest(tool),
    )
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

  /** The user agrees to what has changed. */
  agree(changes: readonly ServerChange[] = this.changes): void {
    const state = stateIn(this.file)
    if (!state) return
    const after = new Map(changes.map((change) => [change.after.name, change.after]))
    save(this.file, {
      ...state,
      agreed: state.agreed.map((tool) => after.get(tool.name) ?? tool),
      changed: state.changed.filter(({ name }) => !after.has(name)),
    })
  }

  /** What it did lately. */
  get notes(): ServerNote[] {
    const { notes } = (jsonIn(this.beside('notes')) ?? {}) as { notes?: unknown }
    const all = Array.isArray(notes) ? (notes as ServerNote[]) : []
    return all.filter(
      (note) => typeof note.what === 'string' && typeof note.at === 'number' && Date.now() - note.at < noted_ms,
    )
  }
  note(what: string): void {
    const others = this.notes.filter((note) => note.what !== what)
    save(this.beside('notes'), { notes: [...others, { at: Date.now(), what }].slice(-mostNotes) })
  }
  forgive(): void {
    rmSync(this.beside('notes'), { force: true })
  }
}

const folder = 'mcp'

/** A digest that changes with every part of a tool that a model or a caller can see. */
export const toolDigest = ({ name, title, description, inputSchema, outputSchema, annotations }: KeptTool): string =>
  sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations]))

/** A tool as lines, for a comparison. */
export function toolLines({ name, description = '', ...rest }: KeptTool): string {
  const members = ['title', 'inputSchema', 'outputSchema', 'annotations'].filter((member) => rest[member] !== undefined)
  return [
    ...(name === '' ? [] : [`name: ${name}`]),
    description,
    ...members.map((member) => `${member}: ${JSON.stringify(rest[member], null, 2)}`),
    '',
  ].join('\n')
}

function stateIn(file: string): State | undefined {
  const state = jsonIn(file)
  const isState =
    state?.['version'] === 2 &&
    typeof state['server'] === 'string' &&
    ['agreed', 'offered', 'changed', 'prompts', 'faults'].every((member) => Array.isArray(state[member]))
  return isState ? (state as unknown as State) : undefined
}

function jsonIn(file: string): JsonObject | undefined {
  if (unsaved.has(file)) return unsaved.get(file) as JsonObject
  try {
    const value: unknown = JSON.parse(readBytes(file, { limit: most }).toString())
    return isObject(value) ? value : undefined
  } catch {
    return undefined
  }
}

/** By file, what a disk that cannot be written does not keep. */
const unsaved = new Map<string, object>()

function save(file: string, state: object): void {
  try {
    writeStateSync(file, JSON.stringify(state), { durable: false })
    unsaved.delete(file)
  } catch {
    unsaved.set(file, state)
  }
}

function names(path: string): string[] {
  try {
    return readdirSync(path).sort()
  } catch {
    return []
  }
}
