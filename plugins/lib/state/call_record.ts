import { lstatSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { Call, JsonObject, Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redact } from '../../../core/text/index.js'
import type { Context, Judged } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { appendOwn } from './private_file.js'
import { ownFolder } from './private_folder.js'

/** One line of `.vtcode/sessions/<id>/calls.jsonl`: what was called, what came of it, and nothing secret. */
export interface CallRecord {
  time: string
  session: string
  call: string
  slot: string
  /** The name it was called by, where that is not the slot's. */
  alias?: string
  surface: string
  /** 0 for a call from outside, more inside another call. */
  depth: number
  mode: string
  ok: boolean
  code?: string
  message?: string
  notices?: string[]
  /** What its policies came to; absent for a call that was refused before they were asked. */
  verdict?: Judged
  /** Absent over 2 KiB. */
  input?: JsonObject
  /** Size of the answer: its text, or without one its structured form. */
  bytes: number
  ms: number
}

export const callsFolder = '.vtcode/sessions'
const most = {
  waiting: 256,
  input: 2048,
  message: 300,
  fileBytes: 10 * 1024 * 1024,
  readBytes: 16 * 1024 * 1024,
  sessions: 50,
  ageMs: 30 * 24 * 60 * 60 * 1000,
}
const patience = 500
/** When the records of a workspace were last looked through: with every session that looks at all others, many would never end. */
const looked = new WeakMap<Workspace, number>()
const lookMs = 60_000

/** The record of one session: kept in memory until it is written, some lines at a time. */
export class Calls {
  private waiting: CallRecord[] = []
  private timer: NodeJS.Timeout | undefined
  private writing: Promise<void> = Promise.resolve()

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
  ) {}

  /** Workspace-relative. */
  get path(): string {
    return `${callsFolder}/${folderName(this.session)}/calls.jsonl`
  }

  add(entry: CallRecord): void {
    this.waiting.push(entry)
    // What waits long is moved by every collection of garbage.
    if (this.waiting.length >= most.waiting) void this.flush()
    else this.timer ??= setTimeout(() => void this.flush(), patience).unref()
  }

  /** What of it lies in the newest file, in order. */
  async entries(): Promise<CallRecord[]> {
    await this.flush()
    return entriesIn(this.workspace, folderName(this.session), 'calls.jsonl')
  }

  /** Writes what waits. A folder that cannot be written to loses the record and nothing else. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const entries = this.waiting.splice(0)
    const text = () => entries.map((entry) => `${this.workspace.seal.write('call', this.path, entry)}\n`).join('')
    if (entries.length > 0) this.writing = this.writing.then(() => this.append(text()).catch(() => undefined))
    return this.writing
  }

  private async append(text: string): Promise<void> {
    await using folder = await ownFolder(this.workspace, `${callsFolder}/${folderName(this.session)}`)
    if (appendOwn(`${folder.ref}/calls.jsonl`, text) > most.fileBytes)
      await rename(`${folder.ref}/calls.jsonl`, `${folder.ref}/calls.1.jsonl`)
    const now = Date.now()
    if (now - (looked.get(this.workspace) ?? 0) < lookMs) return
    looked.set(this.workspace, now)
    await prune(this.workspace, folderName(this.session))
  }
}

/** The record of the session that `context` belongs to; it is written to the end when the session closes. */
export function callsOf({ session, workspace }: Pick<Context, 'session' | 'workspace'>): Calls {
  return session.state('calls', () => {
    const calls = new Calls(workspace, session.id)
    session.onClose(() => calls.flush())
    return calls
  })
}

/** What is worth keeping of a call and its answer. */
export function entryOf(
  call: Call,
  result: Result,
  { judged: verdict, waited_ms }: Pick<Context, 'judged' | 'waited_ms'>,
): CallRecord {
  const { id, slot, session, mode, caller, at } = call
  const input = redact(call.given)
  return {
    time: new Date(at).toISOString(),
    session,
    call: id,
    slot,
    ...(caller.alias !== undefined && { alias: caller.alias }),
    surface: caller.surface,
    depth: caller.depth,
    mode,
    ok: result.ok,
    ...(!result.ok && { code: result.error.code, message: result.error.message.slice(0, most.message) }),
    ...(verdict && { verdict }),
    ...(result.notices && { notices: result.notices.map(({ code }) => code) }),
    ...(isSmall(input) && { input }),
    bytes: result.ok ? Buffer.byteLength(result.text ?? JSON.stringify(result.output)) : 0,
    ms: Math.max(0, Math.round(Date.now() - at - waited_ms)),
  }
}

// Long inputs are contents of files: a glance at the strings spares writing them out to measure them.
const isSmall = (input: JsonObject): boolean =>
  Object.values(input).every((value) => typeof value !== 'string' || value.length <= most.input) &&
  JSON.stringify(input).length <= most.input

/** The entries of every session of the workspace, each session's in order; lines that this program did not write there are passed over. */
export async function* recordedCalls(workspace: Workspace): AsyncGenerator<CallRecord> {
  for (const { name, kind } of await workspace.listNames(callsFolder).catch(() => [])) {
    if (kind !== 'directory') continue
    for (const file of ['calls.1.jsonl', 'calls.jsonl']) yield* await entriesIn(workspace, name, file)
  }
}

/** A file with no line of ours is put aside. */
async function entriesIn(workspace: Workspace, name: string, file: string): Promise<CallRecord[]> {
  const path = `${callsFolder}/${name}/${file}`
  const text = await workspace.read(path, { offset: 0, length: most.readBytes }).then(String, () => '')
  const entries = text
    .split('\n')
    .flatMap(
      (line) =>
        (workspace.seal.read('call', `${callsFolder}/${name}/calls.jsonl`, line) as CallRecord | undefined) ?? [],
    )
  // A line that is not whole may be one that is being written.
  if (entries.length === 0 && text.endsWith('\n')) await workspace.quarantine(path)
  return entries
}

/** The name of a session as the name of a folder. */
export const folderName = (session: string): string =>
  /^\w[\w.-]{0,63}$/.test(session) ? session : `s-${sha256(session).slice(0, 16)}`

/** Removes the records of sessions that ended long ago, and the oldest beyond the number kept. */
async function prune(workspace: Workspace, current: string): Promise<void> {
  await using folder = await ownFolder(workspace, callsFolder)
  // Each call from a shell looks, so it looks through the open folder: a way through the workspace for each of many would take longer than the call.
  const within = (path: string) => lstatSync(`${folder.ref}/${path}`, { throwIfNoEntry: false })
  const found = []
  for (const { name, kind } of folder.listNames()) {
    const stat = kind === 'directory' && name !== current ? within(`${name}/calls.jsonl`) : undefined
    // A conversation is kept by rules of its own.
    if (stat && !within(`${name}/manifest.json`)) found.push({ name, mtime_ms: stat.mtimeMs })
  }
  found.sort((a, b) => b.mtime_ms - a.mtime_ms)
  for (const [index, { name, mtime_ms }] of found.entries()) {
    const gone = index >= most.sessions - 1 || Date.now() - mtime_ms > most.ageMs
    // What bears no mark of ours a repository may have brought.
    if (gone && (await entriesIn(workspace, name, 'calls.jsonl')).length > 0)
      await rm(`${folder.ref}/${name}`, { recursive: true, force: true })
  }
}
