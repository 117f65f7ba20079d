import type { Call, Context, Notice } from '../../../core/index.js'
import { redactText } from '../../../core/text/index.js'
import { createSlotError, formatNames, notice, pluralize } from '../../lib/base/index.js'
import {
  openCheckpoints,
  type CheckpointStore,
  type CommandRecord,
  type StateChange,
  type OpenCheckpoint,
} from '../../lib/checkpoints/index.js'
import { recordChange, type Step } from '../../lib/files/index.js'
import type { WatchedChange } from '../../lib/snapshots/index.js'

/** The entries kept before a command, and its changes once it has ended. */
export interface CommandCheckpoint {
  files: number
  /** Set when all files on disk were kept. */
  complete: boolean
  changed: WatchedChange[]
}

/** Number of uncovered paths that one notice names. */
const MAX_NAMED = 5
/** Number of changes that an answer lists. */
const MAX_CHANGES = 1000

/** State of the checkpoints of one session. */
interface SessionState {
  /** Set once the session knows what no checkpoint covers. */
  informed: boolean
  /** Set once a command was refused because nothing could be kept. */
  refused: boolean
}

/** The checkpoint of one command of a session, from its start to its end. */
export class SessionCheckpoint {
  readonly summary: CommandCheckpoint
  #id: string
  #notices: Notice[] = []
  /** Changes of earlier lines of input. */
  #closed: WatchedChange[] = []
  #lastText = ''

  private constructor(
    private readonly context: Context,
    private readonly call: string,
    private readonly store: CheckpointStore,
    open: OpenCheckpoint,
    private readonly isUnasked: boolean,
  ) {
    this.#id = open.id
    this.summary = { files: open.files, complete: open.complete && store.listUncovered().length === 0, changed: [] }
  }

  /**
   * Keeps the files of the workspace before a command. Throws VT_EXEC_SANDBOX where an unasked command would run
   * without, and VT_EXEC_CHECKPOINT once a session for any other command.
   */
  static async begin(
    context: Context,
    call: Call,
    command: string,
    isUnasked: boolean,
  ): Promise<SessionCheckpoint | undefined> {
    const { workspace, session, settings } = context
    const { enabled, ...limits } = settings.checkpoints
    if (!enabled && !isUnasked) return undefined
    const state = session.state('exec/checkpoints', (): SessionState => ({ informed: false, refused: false }))
    let store: CheckpointStore
    try {
      store = openCheckpoints(workspace.root, workspace.home, limits)
    } catch (error) {
      refuseOnce(state, isUnasked, (error as Error).message)
      return undefined
    }
    const open = await store.begin({ call: call.id, session: session.id, command: redactText(command) })
    const checkpoint = new SessionCheckpoint(context, call.id, store, open, isUnasked)
    if (open.failure !== undefined) {
      await store.end(open.id)
      refuseOnce(state, isUnasked, open.failure)
      checkpoint.#add(`No files were kept before the command: ${open.failure}. Its changes cannot be reverted.`)
    } else if (!open.complete)
      checkpoint.#add(
        `Not all files were kept within ${limits.wait_ms} ms (checkpoints.wait_ms) before the command began; ` +
          'its changes cannot be reverted.',
      )
    if (!state.informed) checkpoint.#inform(state)
    return checkpoint
  }

  /** Notes a line of input to a running program: what it changes is a record of its own. */
  async advance(command: string): Promise<void> {
    const { id, record } = await this.store.advance(this.#id, redactText(command))
    this.#id = id
    await this.#take(record)
  }

  /** Notes what a running program has changed so far. */
  async peek(): Promise<void> {
    const record = await this.store.peek(this.#id)
    if (record) this.#report(record)
  }

  /** Returns the notices about changes since the last call. */
  async finish(): Promise<Notice[]> {
    await this.#take(await this.store.end(this.#id))
    if (this.isUnasked) this.#notices.push(createUnaskedNotice(this.summary))
    return this.takeNotices()
  }

  /** The summary, where a caller needs it: after a change, and for a command without approval. */
  get reported(): CommandCheckpoint | undefined {
    return this.isUnasked || this.summary.changed.length > 0 ? this.summary : undefined
  }

  takeNotices(): Notice[] {
    return this.#notices.splice(0)
  }

  async #take(record: CommandRecord | undefined): Promise<void> {
    if (!record) return
    const { session, workspace } = this.context
    this.#report(record)
    this.#closed = this.summary.changed
    const steps = toSteps(record.changes)
    // The record of undo names the contents; the store keeps them.
    if (steps.length > 0)
      await recordChange(
        { slot: 'unified_exec/run', id: this.call },
        { workspace, session: { id: session.id } },
        steps,
        async () => {},
        'contents',
      ).catch(() => {})
  }

  /** Puts the changes of a record into the answer, where an earlier answer did not have them. */
  #report(record: CommandRecord): void {
    const watched = record.changes.filter(({ path }) => isWatched(path))
    this.summary.changed = [...this.#closed, ...watched.slice(0, MAX_CHANGES).flatMap(toWatchedChange)]
    const text = describeChanges(record)
    if (text === '' || text === this.#lastText || this.isUnasked) return
    this.#lastText = text
    this.#notices.push(notice('VT_EXEC_CHANGED', text))
  }

  /** Names what no checkpoint covers and who else works here, once a session. */
  #inform(state: SessionState): void {
    state.informed = true
    const { session } = this.context
    const others = this.store.records.join(session.id)
    session.onClose(() => this.store.records.leave(session.id))
    if (others.length > 0)
      this.#add(
        `${pluralize(others.length, 'other session works', 'other sessions work')} in this folder: ` +
          `${formatNames(
            others.map(({ pid, session }) => `${session} (process ${pid})`),
            MAX_NAMED,
          )}. ` +
          'Their changes can be among those of a command.',
      )
    const uncovered = this.store.listUncovered()
    if (uncovered.length === 0) return
    const names = uncovered.map(({ path, bytes, reason }) => `${path} (${formatSize(bytes)}, ${reason})`)
    this.#add(`Checkpoints do not cover files outside the workspace, nor ${formatNames(names, MAX_NAMED)}.`)
  }

  /** Reports a remark now and with the answer. */
  #add(text: string): void {
    this.context.progress({ text: `${text}\n` })
    this.#notices.push(notice('VT_EXEC_UNCOVERED', text))
  }
}

/** Throws once a session where nothing can be kept, and always for a command without approval. */
function refuseOnce(state: SessionState, isUnasked: boolean, reason: string): void {
  if (isUnasked) throw createUnaskedError()
  if (state.refused) return
  state.refused = true
  throw createCheckpointError(reason)
}

const formatSize = (bytes: number): string =>
  bytes < 1024 * 1024 ? `${Math.ceil(bytes / 1024)} KB` : `${Math.round(bytes / 1024 / 1024)} MB`

/** Describes a record whose command deleted or changed files, for the answer; '' for any other. */
function describeChanges({ id, changes, mixed }: CommandRecord): string {
  const files = changes.filter(({ path, before }) => isWork(path) && before !== null && before.kind !== 'directory')
  const deleted = files.filter(({ after }) => after === null).length
  const changed = files.length - deleted
  const refs = changes.some(({ path, after }) => after === null && /(^|\/)\.git\/(.*\/)?(refs|logs)\//.test(path))
  const counts = [
    ...(deleted > 0 ? [`${pluralize(deleted, 'file', 'files')} deleted`] : []),
    ...(changed > 0 ? [deleted > 0 ? `${changed} changed` : `${pluralize(changed, 'file', 'files')} changed`] : []),
    ...(refs ? ['references of git deleted'] : []),
  ]
  if (counts.length === 0) return ''
  const others = mixed.length > 0 ? ` Other commands ran at the same time: ${formatNames(mixed, MAX_NAMED)}.` : ''
  return `${counts.join(', ')}; \`vtcode revert --command ${id}\` restores them.${others}`
}

/** Returns whether a path is work of a person rather than state of git or output of a build. */
const isWork = (path: string): boolean => !/(^|\/)(\.git|node_modules|__pycache__|dist|target|\.cache)\//.test(path)

const isWatched = (path: string): boolean => !/^(\/|\.vtcode(\/|$))/.test(path) && !path.split('/').includes('.git')

const toWatchedChange = ({ path, before, after }: StateChange): WatchedChange[] => {
  if (before?.kind === 'directory' || after?.kind === 'directory') return []
  return [{ path, kind: before === null ? 'add' : after === null ? 'delete' : 'update' }]
}

/** Converts the changes of regular files to steps of the history that undo uses. */
function toSteps(changes: readonly StateChange[]): Step[] {
  const folders = new Set(
    changes.flatMap(({ path, before, after }) => (before === null && after?.kind === 'directory' ? [path] : [])),
  )
  return changes.flatMap(({ path, before, after }): Step[] => {
    if (!isWatched(path)) return []
    if (before !== null && (before.kind !== 'file' || before.sha256 === undefined)) return []
    const kept = before && { sha256: before.sha256!, mode: before.mode, bytes: before.bytes }
    if (after === null) return kept ? [{ op: 'remove', path, before: kept }] : []
    if (after.kind !== 'file' || after.sha256 === undefined) return []
    return [{ op: 'write', path, ...(kept && { before: kept }), after: after.sha256, made: listParents(path, folders) }]
  })
}

const listParents = (path: string, folders: ReadonlySet<string>): string[] =>
  path
    .split('/')
    .map((_, index, names) => names.slice(0, index).join('/'))
    .filter((folder) => folders.has(folder))

function createUnaskedNotice({ files, complete, changed }: CommandCheckpoint): Notice {
  const kept = `${pluralize(files, 'file', 'files')} copied before it${complete ? '' : ', not all of them'}`
  const what =
    changed.length === 0
      ? 'it changed none of them'
      : `it changed ${formatNames(changed.map(({ path }) => path))}, which \`vtcode undo\` can restore`
  return notice(
    'VT_EXEC_SANDBOXED',
    `The command ran without approval (policy.sandboxed_commands), in the sandbox, without network, ` +
      `writing only the workspace; ${kept}; ${what}.`,
  )
}

const createUnaskedError = () =>
  createSlotError('VT_EXEC_SANDBOX', 'No checkpoint can be written, so the command needs approval.', {
    hint: 'Nothing was run. Give {field:sandbox_permissions}: use_default to ask the user.',
  })

const createCheckpointError = (reason: string) =>
  createSlotError('VT_EXEC_CHECKPOINT', `The files cannot be kept before the command: ${reason}.`)
