import type { Workspace } from '../../../../core/index.js'
import { envelopeOf } from '../context/envelope.js'
import { AgentError } from '../errors.js'
import type { RevertScope } from '../types.js'
import { lineOf, readJournal } from './journal.js'
import { carryOut, planRewind, type Rewind } from './rewind.js'
import { before, replay } from './state.js'
import { openStore } from './store.js'

export interface Reverted {
  session_id: string
  /** The turn that the revert is. */
  turn: number
  /** Paths that are, or would be, as they were. */
  reverted: string[]
  skipped: Rewind['skipped']
  /** Files that changed since by nothing the session recorded. */
  unrevertable: string[]
}
export interface Wanted {
  turn: number
  scope: RevertScope
  paths: readonly string[]
  dry_run?: boolean
  /** What others changed since is replaced too. */
  force?: boolean
}

/**
 * Brings back what was before a turn: files, conversation or both. It is a turn of the session itself, and can be reverted. Throws
 * VT_REVERT_NO_CHECKPOINT, VT_REVERT_CONFLICT with nothing changed, VT_SESSION_NOT_FOUND, VT_SESSION_LOCKED.
 */
export async function revert(workspace: Workspace, session_id: string, { turn, scope, paths, dry_run, force }: Wanted, now: number): Promise<Reverted> {
  const store = await openStore(workspace, session_id, { must_exist: true })
  try {
    const { records, torn, bytes, damaged } = readJournal((await store.read('messages.jsonl')) ?? '')
    if (damaged !== undefined) throw new AgentError('VT_SESSION_CORRUPT', `Line ${damaged} of the journal of session ${session_id} is damaged.`)
    const first = records[before(records, turn).length]
    const last = records.at(-1)?.turn ?? 0
    if (!first) throw new AgentError('VT_REVERT_NO_CHECKPOINT', `Session ${session_id} has no turn ${turn}; it has ${last}.`)
    const code: Rewind = scope === 'conversation' ? { operations: [], reverted: [], skipped: [], conflicts: [], made: [] } : await planRewind(workspace, session_id, first.ts, paths)
    if (code.conflicts.length > 0 && !force) throw new AgentError('VT_REVERT_CONFLICT', `Changed since by somebody else: ${code.conflicts.join(', ')}. Nothing was reverted.`, { details: { conflicts: code.conflicts } })
    const unrevertable = scope === 'conversation' ? [] : await changedOtherwise(workspace, Date.parse(first.ts), code.reverted)
    const answer: Reverted = { session_id, turn: last + 1, reverted: code.reverted, skipped: code.skipped, unrevertable }
    if (dry_run) return answer
    if (torn) await store.cut('messages.jsonl', bytes)
    const ts = new Date(now).toISOString()
    // The record comes first: the files that are brought back belong to the turn that it opens.
    await store.append('messages.jsonl', lineOf({ kind: 'revert', to_turn: turn, scope }, records.length + 1, last + 1, ts), true)
    await carryOut(workspace, session_id, `revert-${last + 1}`, code)
    const state = replay([...records, { kind: 'revert', to_turn: turn, scope, n: records.length + 1, ts, turn: last + 1, crc: '' }])
    await store.write('memory.json', JSON.stringify(envelopeOf(state, session_id, [], now)))
    return answer
  } finally {
    await store.close()
  }
}

const passed = new Set(['.git', '.vtcode', 'node_modules'])
const mostLookedAt = 20_000
const mostTold = 200

/** Files that are younger than the turn and that nothing above brings back: what only a command knew. */
async function changedOtherwise(workspace: Workspace, since: number, reverted: readonly string[]): Promise<string[]> {
  const known = new Set(reverted)
  const found: string[] = []
  const folders = ['.']
  for (let looked = 0; folders.length > 0 && looked < mostLookedAt && found.length < mostTold; ) {
    const folder = folders.pop()!
    for (const { name, kind } of await workspace.names(folder).catch(() => [])) {
      looked += 1
      const path = folder === '.' ? name : `${folder}/${name}`
      if (kind === 'directory' && !passed.has(name)) folders.push(path)
      if (kind !== 'file' || known.has(path)) continue
      const stat = await workspace.stat(path).catch(() => undefined)
      if (stat && stat.mtime_ms >= since) found.push(path)
    }
  }
  return found.sort()
}
