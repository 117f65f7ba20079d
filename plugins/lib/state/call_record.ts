import { lstatSync } from 'node:fs'
import { rename, rm } from 'node:fs/promises'
import type { Call, JsonObject, Result } from '../../../core/shapes/index.js'
import { sha256 } from '../../../core/system/index.js'
import { redact } from '../../../core/text/index.js'
import type { Context, PolicyOutcome } from '../../../core/contract/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { appendPrivateFile } from './private_file.js'
import { openPrivateFolder } from './private_folder.js'

/** Line of `.vtcode/sessions/<id>/calls.jsonl`: a call and its result without secrets. */
export interface CallRecord {
  time: string
  session: string
  call: string
  slot: string
  /** Alias of the call, if it differs from the slot. */
  alias?: string
  surface: string
  /** 0 for a call from outside, more for a call inside another. */
  depth: number
  mode: string
  ok: boolean
  code?: string
  message?: string
  notices?: string[]
  /** Verdict of the policies; absent for a call that was refused before. */
  verdict?: PolicyOutcome
  /** Absent over 2 KiB. */
  input?: JsonObject
  /** Size of the result: of its text, or of its JSON without a text. */
  bytes: number
  ms: number
}

export const CALLS_FOLDER = '.vtcode/sessions'
const LIMITS = {
  waiting: 256,
  input: 2048,
  message: 300,
  fileBytes: 10 * 1024 * 1024,
  readBytes: 16 * 1024 * 1024,
  sessions: 50,
  ageMs: 30 * 24 * 60 * 60 * 1000,
}
const FLUSH_DELAY_MS = 500
/** Last pruning of each workspace. Limited, because every session would otherwise read the records of all others. */
const lastPrunes = new WeakMap<Workspace, number>()
const PRUNE_INTERVAL_MS = 60_000

/** Call log of one session; writes several lines at a time. */
export class CallLog {
  private queue: CallRecord[] = []
  private timer: NodeJS.Timeout | undefined
  private writing: Promise<void> = Promise.resolve()

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
  ) {}

  /** Workspace-relative. */
  get path(): string {
    return `${CALLS_FOLDER}/${toFolderName(this.session)}/calls.jsonl`
  }

  add(entry: CallRecord): void {
    this.queue.push(entry)
    // A long queue costs time in every garbage collection.
    if (this.queue.length >= LIMITS.waiting) void this.flush()
    else this.timer ??= setTimeout(() => void this.flush(), FLUSH_DELAY_MS).unref()
  }

  /** Returns the records in the newest file, in order. */
  async list(): Promise<CallRecord[]> {
    await this.flush()
    return readRecords(this.workspace, toFolderName(this.session), 'calls.jsonl')
  }

  /** Writes the queue. A folder that cannot be written to loses the record and nothing else. */
  flush(): Promise<void> {
    clearTimeout(this.timer)
    this.timer = undefined
    const entries = this.queue.splice(0)
    const text = () => entries.map((entry) => `${this.workspace.seal.write('call', this.path, entry)}\n`).join('')
    if (entries.length > 0) this.writing = this.writing.then(() => this.append(text()).catch(() => undefined))
    return this.writing
  }

  private async append(text: string): Promise<void> {
    await using folder = await openPrivateFolder(this.workspace, `${CALLS_FOLDER}/${toFolderName(this.session)}`)
    if (appendPrivateFile(`${folder.ref}/calls.jsonl`, text) > LIMITS.fileBytes)
      await rename(`${folder.ref}/calls.jsonl`, `${folder.ref}/calls.1.jsonl`)
    const now = Date.now()
    if (now - (lastPrunes.get(this.workspace) ?? 0) < PRUNE_INTERVAL_MS) return
    lastPrunes.set(this.workspace, now)
    await prune(this.workspace, toFolderName(this.session))
  }
}

/** Returns the call log of a session; the rest is written when the session closes. */
export function openCallLog({ session, workspace }: Pick<Context, 'session' | 'workspace'>): CallLog {
  return session.state('calls', () => {
    const calls = new CallLog(workspace, session.id)
    session.onClose(() => calls.flush())
    return calls
  })
}

/** Creates the record of a call and its result. */
export function createRecord(
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
    ...(!result.ok && { code: result.error.code, message: result.error.message.slice(0, LIMITS.message) }),
    ...(verdict && { verdict }),
    ...(result.notices && { notices: result.notices.map(({ code }) => code) }),
    ...(isSmall(input) && { input }),
    bytes: result.ok ? Buffer.byteLength(result.text ?? JSON.stringify(result.output)) : 0,
    ms: Math.max(0, Math.round(Date.now() - at - waited_ms)),
  }
}

// Long inputs are contents of files: the length of the strings saves serializing them.
const isSmall = (input: JsonObject): boolean =>
  Object.values(input).every((value) => typeof value !== 'string' || value.length <= LIMITS.input) &&
  JSON.stringify(input).length <= LIMITS.input

/** Yields the records of every session, in order within a session. Skips lines that this program did not write. */
export async function* readCallRecords(workspace: Workspace): AsyncGenerator<CallRecord> {
  for (const { name, kind } of await workspace.listNames(CALLS_FOLDER).catch(() => [])) {
    if (kind !== 'directory') continue
    for (const file of ['calls.1.jsonl', 'calls.jsonl']) yield* await readRecords(workspace, name, file)
  }
}

/** Reads the records of a file. A file without a valid line is moved away. */
async function readRecords(workspace: Workspace, name: string, file: string): Promise<CallRecord[]> {
  const path = `${CALLS_FOLDER}/${name}/${file}`
  const text = await workspace.read(path, { offset: 0, length: LIMITS.readBytes }).then(String, () => '')
  const entries = text
    .split('\n')
    .flatMap(
      (line) =>
        (workspace.seal.read('call', `${CALLS_FOLDER}/${name}/calls.jsonl`, line) as CallRecord | undefined) ?? [],
    )
  // An incomplete line may still be written.
  if (entries.length === 0 && text.endsWith('\n')) await workspace.quarantine(path)
  return entries
}

/** Converts the name of a session to the name of a folder. */
export const toFolderName = (session: string): string =>
  /^\w[\w.-]{0,63}$/.test(session) ? session : `s-${sha256(session).slice(0, 16)}`

/** Removes the records of sessions that ended long ago, and the oldest ones beyond the limit. */
async function prune(workspace: Workspace, current: string): Promise<void> {
  await using folder = await openPrivateFolder(workspace, CALLS_FOLDER)
  // Each call from a shell prunes, so the open folder is used: paths through the workspace would take longer than the
  // call.
  const within = (path: string) => lstatSync(`${folder.ref}/${path}`, { throwIfNoEntry: false })
  const found = []
  for (const { name, kind } of folder.listNames()) {
    const stat = kind === 'directory' && name !== current ? within(`${name}/calls.jsonl`) : undefined
    // Conversations have their own rules.
    if (stat && !within(`${name}/manifest.json`)) found.push({ name, mtime_ms: stat.mtimeMs })
  }
  found.sort((a, b) => b.mtime_ms - a.mtime_ms)
  for (const [index, { name, mtime_ms }] of found.entries()) {
    const gone = index >= LIMITS.sessions - 1 || Date.now() - mtime_ms > LIMITS.ageMs
    // Files without our seal may come from the repository.
    if (gone && (await readRecords(workspace, name, 'calls.jsonl')).length > 0)
      await rm(`${folder.ref}/${name}`, { recursive: true, force: true })
  }
}
