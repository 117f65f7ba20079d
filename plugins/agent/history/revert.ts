import type { OpenWorkspace, Workspace } from '../../../core/workspace/index.js'
import { listUndoable, type Step } from '../../lib/files/index.js'
import { AgentError, type Fact, type JournalRecord, type RevertScope } from '../base/index.js'
import {
  formatRecord,
  readOwnJournal,
  createMemoryEnvelope,
  conversationTable,
  listEarlierRecords,
  openStore,
} from '../session/index.js'
import { isStepDone } from './recover_calls.js'
import { applyRewind, planRewind, type Rewind } from './rewind.js'

export interface Reverted {
  session_id: string
  /** The number of the turn that records the revert. */
  turn: number
  /** Paths that were restored, or would be in a dry run. */
  reverted: string[]
  skipped: Rewind['skipped']
  /** Files that changed since the turn without a record of the session. */
  unrevertable: string[]
}
export interface RevertRequest {
  turn: number
  scope: RevertScope
  paths: readonly string[]
  dry_run?: boolean
  /** Replaces later changes of others too. */
  force?: boolean
}

/**
 * Restores the files, the conversation or both to the state before a turn. The revert is a turn of the session and can
 * be reverted itself. Throws VT_REVERT_NO_CHECKPOINT, VT_REVERT_CONFLICT (no file is changed), VT_SESSION_NOT_FOUND,
 * VT_SESSION_LOCKED.
 */
export async function revert(
  workspace: OpenWorkspace,
  session_id: string,
  { turn, scope, paths, dry_run, force }: RevertRequest,
  now: number,
): Promise<Reverted> {
  const store = await openStore(workspace, session_id, { must_exist: true })
  try {
    const { records, torn, bytes } = readOwnJournal((await store.read('messages.jsonl')) ?? '', session_id, store.mark)
    const since = findTurnStart(records, turn)
    const last = records.at(-1)?.turn ?? 0
    if (since === undefined)
      throw new AgentError('VT_REVERT_NO_CHECKPOINT', `Session ${session_id} has no turn ${turn}; it has ${last}.`)
    if (!dry_run) await finishRevert(workspace, session_id, records)
    const code: Rewind = scope === 'conversation' ? EMPTY_REWIND : await planRewind(workspace, session_id, since, paths)
    if (code.conflicts.length > 0 && !force)
      throw new AgentError(
        'VT_REVERT_CONFLICT',
        `Changed since by somebody else: ${code.conflicts.join(', ')}. Nothing was reverted.`,
        { details: { conflicts: code.conflicts } },
      )
    const unrevertable =
      scope === 'conversation' ? [] : await findOtherChanges(workspace, Date.parse(since), code.reverted)
    const answer: Reverted = {
      session_id,
      turn: last + 1,
      reverted: code.reverted,
      skipped: code.skipped,
      unrevertable,
    }
    if (dry_run) return answer
    if (torn) await store.cut('messages.jsonl', bytes)
    const ts = new Date(now).toISOString()
    const fact: Fact = {
      kind: 'revert',
      to_turn: turn,
      scope,
      ...(paths.length > 0 && { paths }),
      ...(force && { force }),
    }
    // The record comes first: the restored files belong to the turn that it opens, and the next run finishes a revert
    // that was killed.
    await store.append('messages.jsonl', formatRecord(fact, records.length + 1, last + 1, ts, store.mark))
    await store.sync()
    await applyRewind(workspace, session_id, toRevertId(last + 1), code)
    await store.append(
      'messages.jsonl',
      formatRecord(createRevertNote(turn), records.length + 2, last + 1, ts, store.mark),
    )
    await store.sync()
    const state = conversationTable.replay([
      ...records,
      { ...fact, n: records.length + 1, ts, turn: last + 1, crc: '' },
    ])
    await store.write('memory.json', JSON.stringify(createMemoryEnvelope(state, session_id, [], now)))
    return answer
  } finally {
    await store.close()
  }
}

const EMPTY_REWIND: Rewind = { operations: [], reverted: [], skipped: [], conflicts: [], made: [] }
const toRevertId = (turn: number): string => `revert-${turn}`
/** Creates the fact that follows a revert once its files are restored. */
export const createRevertNote = (turn: number): Fact => ({
  kind: 'note',
  text: `The files are as they were before turn ${turn}.`,
})

/** Returns when a turn began (ISO 8601); `undefined` for an unknown turn. */
const findTurnStart = (records: readonly JournalRecord[], turn: number): string | undefined =>
  records[listEarlierRecords(records, turn).length]?.ts

/**
 * Restores the files of a revert whose process was killed first, unless somebody changed one of them since. Returns the
 * turn that the revert goes back to.
 */
export async function finishRevert(
  workspace: OpenWorkspace,
  session_id: string,
  records: readonly JournalRecord[],
): Promise<number | undefined> {
  const last = records.at(-1)
  if (last?.kind !== 'revert' || last.scope === 'conversation') return undefined
  const id = toRevertId(last.turn)
  // A checkpoint without its changes would look like a change of somebody else.
  for (const { folder, checkpoint } of await listUndoable(workspace)) {
    if (checkpoint.session === session_id && checkpoint.id === id && !(await areStepsDone(workspace, checkpoint.steps)))
      await workspace.remove(folder, { recursive: true })
  }
  const plan = await planRewind(
    workspace,
    session_id,
    findTurnStart(records.slice(0, -1), last.to_turn) ?? last.ts,
    last.paths ?? [],
  )
  if (plan.conflicts.length === 0 || last.force) await applyRewind(workspace, session_id, id, plan)
  return last.to_turn
}

const areStepsDone = async (workspace: Workspace, steps: readonly Step[]): Promise<boolean> =>
  !(await Promise.all(steps.map((step) => isStepDone(workspace, step)))).includes(false)

const SKIPPED_FOLDERS = new Set(['.git', '.vtcode', 'node_modules'])
const MAX_ENTRIES = 20_000
const MAX_PATHS = 200

/** Lists files modified since the turn that are not reverted: only a command can have changed them. */
async function findOtherChanges(workspace: Workspace, since: number, reverted: readonly string[]): Promise<string[]> {
  const known = new Set(reverted)
  const found: string[] = []
  const folders = ['.']
  for (let looked = 0; folders.length > 0 && looked < MAX_ENTRIES && found.length < MAX_PATHS;) {
    const folder = folders.pop()!
    for (const { name, kind } of await workspace.listNames(folder).catch(() => [])) {
      looked += 1
      const path = folder === '.' ? name : `${folder}/${name}`
      if (kind === 'directory' && !SKIPPED_FOLDERS.has(name)) folders.push(path)
      if (kind !== 'file' || known.has(path)) continue
      const stat = await workspace.stat(path).catch(() => undefined)
      if (stat && stat.mtime_ms >= since) found.push(path)
    }
  }
  return found.sort()
}
