import { sha256 } from '../../../core/system/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { readPrivateFile, CALLS_FOLDER } from '../../lib/state/index.js'
import { type Clock, type Fact, type JournalRecord, type Msg, type Store } from '../base/index.js'
import {
  copyImages,
  formatRecord,
  resealRecords,
  parseManifest,
  type ForkMode,
  createMemoryEnvelope,
  renderMemory,
  type ConversationState,
  listEarlierRecords,
  type StateTable,
  openStore,
  createPlainSummary,
  renderSummary,
} from '../session/index.js'
import { readRecords } from './read_records.js'

const PROMPTS_KEPT = 4

/**
 * Makes a session from another one, which stays unchanged and may be in use. `full_copy` keeps the whole conversation;
 * `summarized` keeps its memory, a summary and the latest prompts of the user. An open turn is left out, and no model
 * is asked. `before_turn`: only the turns before this one.
 */
export async function fork<S extends ConversationState>(
  workspace: Workspace,
  from: string,
  to: string,
  mode: ForkMode,
  { clock, table, before_turn }: { clock: Clock; table: StateTable<S>; before_turn?: number },
): Promise<void> {
  const parent = `${CALLS_FOLDER}/${from}`
  const records = await readRecords(workspace, from)
  const manifest = parseManifest((await workspace.readText(`${parent}/manifest.json`).catch(() => '')) || '{}')
  const whole = before_turn === undefined ? dropOpenTurn(records, table) : listEarlierRecords(records, before_turn)
  const store = await openStore(workspace, to, { must_exist: false })
  try {
    const now = new Date(clock.now()).toISOString()
    await withSessionReader(workspace, parent, async (read) => {
      await copyImages(read, store, table.replay(whole).messages)
      await copyArtifacts(read, store, whole)
    })
    // One write of the whole: a fork that is cut short is no session.
    const createSummaryRecords = () =>
      createSummaryFacts(table, whole, to, `${parent}/messages.jsonl`, clock.now()).map((fact, index) =>
        formatRecord(fact, index + 1, 0, now, store.mark),
      )
    await store.write(
      'messages.jsonl',
      mode === 'full_copy' ? resealRecords(removeCosts(whole), store.mark) : createSummaryRecords().join(''),
    )
    const own = {
      session_id: to,
      title: undefined,
      total_cost_usd: 0,
      parent_session_id: from,
      parent_thread_id: manifest?.thread_id,
      fork_mode: mode,
    }
    await store.write('manifest.json', JSON.stringify({ ...manifest, ...own, created_at: now, updated_at: now }))
  } finally {
    await store.close()
  }
}

/** Passes a reader of the files in a session's folder to `use`. */
async function withSessionReader(
  workspace: Workspace,
  path: string,
  use: (read: (name: string) => Promise<string | undefined>) => Promise<void>,
): Promise<void> {
  await using folder = await workspace.openDirectory(path)
  await use((name) => readPrivateFile(`${folder.ref}/${name}`))
}

/** Copies the texts that facts name, which lie next to the journal. A session writes the texts of its prompts again. */
async function copyArtifacts(
  read: (name: string) => Promise<string | undefined>,
  store: Store,
  records: readonly JournalRecord[],
): Promise<void> {
  for (const record of records) {
    const text = record.kind === 'artifact' ? await read(`prompts/${record.sha256}`) : undefined
    if (record.kind === 'artifact' && text !== undefined && sha256(text) === record.sha256)
      await store.write(`prompts/${record.sha256}`, text)
  }
}

/** Returns the records up to the end of the last turn that ended. */
function dropOpenTurn(
  records: readonly JournalRecord[],
  table: StateTable<ConversationState>,
): readonly JournalRecord[] {
  const { open, turn } = table.replay(records)
  return open ? listEarlierRecords(records, turn) : records
}

/** Returns the records without costs, which count for the parent session. */
const removeCosts = (records: readonly JournalRecord[]): JournalRecord[] =>
  records.map((record) => ('cost_usd' in record ? { ...record, cost_usd: 0 } : record))

/** Returns the first facts of a summarized fork. */
function createSummaryFacts<S extends ConversationState>(
  table: StateTable<S>,
  records: readonly JournalRecord[],
  to: string,
  history_path: string,
  now: number,
): Fact[] {
  const state = table.replay(records)
  const summary = createPlainSummary(state.messages, state.summary)
  const words = state.messages
    .filter(({ role, origin }) => role === 'user' && origin !== 'harness' && origin !== 'instructions')
    .slice(-PROMPTS_KEPT)
  const message = (text: string): Msg => ({ role: 'user', parts: [{ type: 'text', text }], origin: 'harness' })
  const memory = createMemoryEnvelope({ ...state, summary, history_path }, to, [], now, table.collectMemory(state))
  const compaction: Fact = {
    kind: 'compaction',
    keep_from: 0,
    inserted: [message(renderMemory(memory)), message(renderSummary(summary)), ...words],
    history_path,
    summary,
  }
  return [compaction, ...table.listCarriedFacts(state)]
}
