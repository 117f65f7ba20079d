import { resolve } from 'node:path'
import { omitUndefined } from '../../core/shapes/index.js'
import type { Kernel } from '../../core/contract/index.js'
import { openWorkspace, type Workspace } from '../../core/workspace/index.js'
import { CALLS_FOLDER } from '../lib/state/index.js'
import type { AgentOptions } from './agent_options.js'
import { AgentError, resolveAgentSettings, createIdMaker, type AgentProviders } from './base/index.js'
import { chooseComponents, rebindComponents } from './components/index.js'
import { partOrigin, settleParts, type ChildThread, type OpenChild } from './delegation/index.js'
import { createPacedSink, createFileSink } from './events/index.js'
import { checkPrice } from './ledger/index.js'
import { connect } from './model/index.js'
import { deriveRecords } from './records/index.js'
import { parseManifest, lastText, createPartManifest, createRecordPlace, isValidSessionId } from './session/index.js'
import {
  closeUnfinished,
  requireOwnSession,
  createRevertNote,
  finishRevert,
  listSessionFolders,
  forgetSession,
  fork,
  findLastSession,
  noteSession,
  restore,
  tidy,
  type Restored,
} from './history/index.js'
import { Thread } from './thread.js'
import { threadTable, type ThreadOptions } from './thread_state.js'

/** Returns the id of a new session. Throws VT_SESSION_EXISTS and, for an invalid id, VT_CONFIG_INVALID. */
async function requireFreeId(workspace: Workspace, id: string): Promise<string> {
  if (!/^ses_./.test(id) || !isValidSessionId(id))
    throw new AgentError('VT_CONFIG_INVALID', `Invalid session id '${id}'.`, {
      hint: 'Use ses_ followed by letters, digits, - or _.',
    })
  if (await workspace.stat(`${CALLS_FOLDER}/${id}`))
    throw new AgentError('VT_SESSION_EXISTS', `There is a session '${id}' already.`)
  return id
}

/** Opens the thread of an agent. Throws as `createAgent` does. */
export async function openThread(kernel: Kernel, options: AgentOptions): Promise<OpenedThread> {
  const {
    surface = 'agent',
    tools: with_tools = true,
    limits,
    only,
    verify,
    onEvent,
    onDelta,
    reasoning_effort,
  } = options
  const settings = resolveAgentSettings(kernel)
  const { providers, connection } = await connectModel(kernel, options, settings.agent.model)
  const newId = createIdMaker(providers.clock, providers.random)
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const { session_id, start_reason } = await chooseSession(workspace, options, () => newId('ses'), providers)
    const must_exist = start_reason !== 'startup'
    const before = providers.session.kept ? undefined : await listSessionFolders(workspace)
    const store = await providers.session.open(workspace, session_id, { must_exist })
    const restored = must_exist ? await restoreSession(store, session_id) : undefined
    if (providers.session.kept && start_reason !== 'resume') await noteSession(session_id, workspace)
    const manifest = restored && parseManifest((await store.read('manifest.json')) ?? '')
    const thread = new Thread({
      kernel,
      workspace,
      providers,
      store,
      connection,
      session_id,
      thread_id: restored?.unfinished.thread_id ?? newId('th'),
      surface,
      ...omitUndefined({ limits, only, reasoning_effort, restored, manifest }),
      ...(verify && { finish: { verify } }),
      start_reason,
      with_tools,
      open_child: openChild,
    })
    thread.events.add(providers.logging.open(store))
    addRecords(thread, createRecordPlace(workspace, store, session_id))
    if (restored) await resumeThread(thread, restored)
    if (onEvent) thread.events.add(onEvent)
    if (onDelta) thread.events.deltas.add(createPacedSink(onDelta))
    const leave = async () => {
      if (!must_exist) await removeOldSessions(thread)
      if (before) await forgetSession(workspace, session_id, before)
    }
    return {
      thread,
      close: () =>
        thread
          .close()
          .then(leave)
          .finally(() => workspace.close()),
    }
  } catch (error) {
    workspace.close()
    throw error
  }
}

async function restoreSession(store: ThreadOptions['store'], session_id: string) {
  try {
    return await restore(store, session_id, threadTable)
  } catch (error) {
    await store.close()
    throw error
  }
}

function addRecords({ kernel, providers, settings, events }: Thread, place: Parameters<typeof deriveRecords>[0]): void {
  const { event_log_path: log } = settings.harness
  if (providers.session.kept) events.add(deriveRecords(place, settings))
  if (log !== undefined) events.add(createFileSink(resolve(kernel.workspace, log)))
}

/** Removes old sessions; a failure does not fail the run. */
async function removeOldSessions({ workspace, settings, providers, session_id }: Thread): Promise<void> {
  if (!providers.session.kept) return
  await tidy(workspace, settings, { now: providers.clock.now(), current: session_id }).catch(() => [])
}

/** Chooses the parts of an agent and connects its model. */
async function connectModel(kernel: Kernel, options: AgentOptions, usual: string | undefined) {
  const { env = process.env, io, quiet = false } = options
  const place = { kernel, env, quiet, ...omitUndefined({ io }) }
  const providers = await chooseComponents(place, options.context, options.providers)
  const connection = await connect(kernel, options.model ?? env['VTCODE_MODEL'] ?? usual, providers)
  checkPrice(connection.model, resolveAgentSettings(kernel, options.limits).harness)
  return { providers, connection }
}

type StartedSession = Pick<ThreadOptions, 'session_id' | 'start_reason'>

/** Finds the session to resume or to fork, or makes an id for a new one. */
async function chooseSession(
  workspace: Workspace,
  options: AgentOptions,
  makeId: () => string,
  { clock }: AgentProviders,
): Promise<StartedSession> {
  const from = options.resume === 'last' ? await findLastSession(workspace) : options.resume
  if (from !== undefined) await requireOwnSession(workspace, from)
  if (from !== undefined && !options.fork) return { session_id: from, start_reason: 'resume' }
  const session_id = await requireFreeId(workspace, options.session_id ?? makeId())
  if (from === undefined || !options.fork) return { session_id, start_reason: 'startup' }
  await fork(workspace, from, session_id, options.fork, { clock, table: threadTable })
  return { session_id, start_reason: 'fork' }
}

interface OpenedThread {
  thread: Thread
  close(): Promise<void>
}

/**
 * Opens a thread for delegated work: a session of its own, stored with the session of the parent, under the parent's
 * policies. Uses the parent's kernel or, for a copy of the files, a kernel there.
 */
const openChild: OpenChild = async (parent, plan) => {
  const { settings, kernel: above } = parent
  const { session_id, rights, approve, tree } = plan
  const kernel = tree ? await above.inspection.openSibling(tree.root) : above
  const workspaces = [
    openWorkspace(above.workspace, above.inspection),
    ...(tree ? [openWorkspace(kernel.workspace, kernel.inspection)] : []),
  ]
  const close = async () => {
    for (const workspace of workspaces) workspace.close()
    if (tree) await kernel.close()
  }
  try {
    const providers: AgentProviders = {
      ...(tree ? await rebindComponents(parent.providers, kernel) : parent.providers),
      approval: approve ? { approve } : parent.providers.approval.deferred ? { deferred: true } : {},
    }
    const connection =
      plan.model === undefined || plan.model === parent.connection.model.id
        ? parent.connection
        : await connect(above, plan.model, providers)
    const { max_budget_usd } = settings.harness
    checkPrice(connection.model, settings.harness)
    const store = await providers.session.open(workspaces[0]!, session_id, { must_exist: plan.resumes })
    const restored = plan.resumes ? await restoreSession(store, session_id) : undefined
    const thread = new Thread({
      kernel,
      workspace: workspaces.at(-1)!,
      providers,
      store,
      connection,
      session_id,
      thread_id: plan.thread_id,
      surface: 'subagent',
      only: rights.only,
      with_tools: true,
      start_reason: 'part',
      open_child: openChild,
      ...(max_budget_usd !== undefined && { limits: { max_budget_usd } }),
      ...omitUndefined({ restored }),
      manifest: createPartManifest(parent, plan),
      child: { plan, costs: parent.costs },
    })
    thread.events.add(providers.logging.open(store, plan.agent.name))
    if (restored) await resumeThread(thread, restored)
    // A later opening by id has no copy of the files, so that it may only read.
    await thread.commit({
      kind: 'rights',
      only: tree ? { ...rights.only, writes: [] } : rights.only,
      depth: plan.depth,
    })
    await thread.commit({ kind: 'mode', mode: rights.mode, by: 'parent' })
    return toChildThread(thread, () => thread.close().finally(close))
  } catch (error) {
    await close()
    throw error
  }
}

/** Wraps a thread for the parent that delegated the work. */
const toChildThread = (thread: Thread, close: () => Promise<void>): ChildThread => ({
  async run(text, signal) {
    await thread.start()
    await thread.run({ role: 'user', parts: [{ type: 'text', text }], origin: partOrigin }, signal)
    return thread.finish()
  },
  say: (text, interrupt) => (interrupt ? thread.steer(text) : thread.queue.add(text, { origin: partOrigin })),
  get report() {
    return thread.delegation.ownReport
  },
  get last_text() {
    return lastText(thread.state.messages)
  },
  get changed_files() {
    return thread.state.touched
  },
  get cost_usd() {
    return thread.state.cost
  },
  close,
})

/** Completes unfinished work of the last process and loads the queue. */
async function resumeThread(
  thread: Thread,
  { records, unfinished }: Pick<Restored<object>, 'records' | 'unfinished'>,
): Promise<void> {
  const { kernel, workspace, session_id } = thread
  const reverted = await finishRevert(workspace, session_id, records)
  if (reverted !== undefined) await thread.commit(createRevertNote(reverted))
  await closeUnfinished(thread, unfinished)
  await settleParts(thread, records)
  await thread.queue.load(thread.state.applied)
  // A mode given at resume takes precedence.
  const isModeGiven = kernel.inspection.origins().some(({ path, layer }) => path === 'policy.mode' && layer === 'call')
  if (isModeGiven && thread.state.mode !== undefined) await thread.setMode(kernel.inspection.resolveMode())
}
