import { resolve } from 'node:path'
import type { Kernel } from '../../core/kernel/index.js'
import { openWorkspace, type Workspace } from '../../core/workspace/index.js'
import { callsFolder } from '../lib/state/index.js'
import type { AgentOptions } from './agent_options.js'
import { AgentError, agentSettings, idMaker, type AgentProviders } from './base/index.js'
import { chooseComponents, componentsFor } from './components/index.js'
import { partOrigin, settleParts, type ChildThread, type OpenChild } from './delegation/index.js'
import { atItsPace, copyTo } from './events/index.js'
import { checkPrice } from './ledger/index.js'
import { connect } from './model/index.js'
import { deriveRecords } from './records/index.js'
import {
  asManifest, closeUnfinished, findSession, finished, finishRevert, foldersThere, forgetSession, fork, lastSession, lastText, noteSession, partManifest, placeOfSession, restore, tidy, validId, type Restored,
} from './session/index.js'
import { Thread } from './thread.js'
import { threadTable } from './thread_state.js'

/** The id of a session that is yet to be. Throws VT_SESSION_EXISTS and, for one that is none, VT_CONFIG_INVALID. */
async function freeId(workspace: Workspace, id: string): Promise<string> {
  if (!/^ses_./.test(id) || !validId(id)) throw new AgentError('VT_CONFIG_INVALID', `'${id}' is no id of a session.`, { hint: 'Such an id is ses_ and letters, digits, - or _ behind it.' })
  if (await workspace.stat(`${callsFolder}/${id}`)) throw new AgentError('VT_SESSION_EXISTS', `There is a session '${id}' already.`)
  return id
}

/** Opens the thread of an agent. Throws as `createAgent` does. */
export async function openThread(kernel: Kernel, options: AgentOptions): Promise<OpenedThread> {
  const env = options.env ?? process.env
  const providers = await chooseComponents({ kernel, env, ...(options.io && { io: options.io }), quiet: options.quiet ?? false }, options.context, options.providers)
  const settings = agentSettings(kernel)
  const connection = await connect(kernel, options.model ?? env['VTCODE_MODEL'] ?? settings.agent.model, providers)
  checkPrice(connection.model, agentSettings(kernel, options.limits).harness)
  const newId = idMaker(providers.clock, providers.random)
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const from = options.resume === 'last' ? await lastSession(workspace) : options.resume
    if (from !== undefined) await findSession(workspace, from)
    const session_id = from === undefined || options.fork ? await freeId(workspace, options.session_id ?? newId('ses')) : from
    if (from !== undefined && options.fork) await fork(workspace, from, session_id, options.fork, { clock: providers.clock, table: threadTable })
    const must_exist = from !== undefined
    const before = providers.session.kept ? undefined : await foldersThere(workspace)
    const store = await providers.session.open(workspace, session_id, { must_exist })
    const restored = must_exist ? await restore(store, session_id, threadTable).catch((error: unknown) => store.close().then(() => Promise.reject(error))) : undefined
    if (providers.session.kept && session_id !== from) await noteSession(session_id, workspace)
    const manifest = restored && asManifest((await store.read('manifest.json')) ?? '')
    const thread = new Thread({
      kernel,
      workspace,
      providers,
      store,
      connection,
      session_id,
      thread_id: restored?.unfinished.thread_id ?? newId('th'),
      surface: options.surface ?? 'agent',
      ...(options.limits && { limits: options.limits }),
      ...(options.only && { only: options.only }),
      ...(options.verify && { finish: { verify: options.verify } }),
      ...(restored && { restored }),
      start_reason: from === undefined ? 'startup' : session_id === from ? 'resume' : 'fork',
      ...(manifest && { manifest }),
      with_tools: options.tools ?? true,
      open_child: openChild,
    })
    thread.events.add(providers.logging.open(store))
    if (providers.session.kept) thread.events.add(deriveRecords(placeOfSession(workspace, store, session_id), settings))
    if (settings.harness.event_log_path !== undefined) thread.events.add(copyTo(resolve(kernel.workspace, settings.harness.event_log_path)))
    if (restored) await goOn(thread, restored)
    if (options.onEvent) thread.events.add(options.onEvent)
    if (options.onDelta) thread.events.deltas.add(atItsPace(options.onDelta))
    const close = async () => {
      try {
        await thread.close()
        // Old sessions make room for new ones; that is no reason for a run to fail.
        if (!must_exist && providers.session.kept) await tidy(workspace, settings, { now: providers.clock.now(), current: session_id }).catch(() => [])
        if (before) await forgetSession(workspace, session_id, before)
      } finally {
        workspace.close()
      }
    }
    return { thread, close }
  } catch (error) {
    workspace.close()
    throw error
  }
}

interface OpenedThread {
  thread: Thread
  close(): Promise<void>
}

/**
 * Opens the thread of a part of somebody's work: a session of its own, with the parts of the parent that decide what may happen, on the same
 * kernel or, for work on a copy of the files, on one of its own there. The session lies with that of the parent.
 */
const openChild: OpenChild = async (parent, plan) => {
  const { settings, kernel: above } = parent
  const { session_id, rights, approve, tree } = plan
  const kernel = tree ? await above.inspection.openSibling(tree.root) : above
  const workspaces = [openWorkspace(above.workspace, above.inspection), ...(tree ? [openWorkspace(kernel.workspace, kernel.inspection)] : [])]
  const close = async () => {
    for (const workspace of workspaces) workspace.close()
    if (tree) await kernel.close()
  }
  try {
    const providers: AgentProviders = { ...(tree ? await componentsFor(parent.providers, kernel) : parent.providers), approval: approve ? { approve } : parent.providers.approval.deferred ? { deferred: true } : {} }
    const connection = plan.model === undefined || plan.model === parent.connection.model.id ? parent.connection : await connect(above, plan.model, providers)
    const { max_budget_usd } = settings.harness
    checkPrice(connection.model, settings.harness)
    const store = await providers.session.open(workspaces[0]!, session_id, { must_exist: plan.goes_on })
    const restored = plan.goes_on ? await restore(store, session_id, threadTable).catch((error: unknown) => store.close().then(() => Promise.reject(error as Error))) : undefined
    const thread = new Thread({
      kernel, workspace: workspaces.at(-1)!, providers, store, connection, session_id, thread_id: plan.thread_id, surface: 'subagent', only: rights.only, with_tools: true, start_reason: 'part', open_child: openChild,
      ...(max_budget_usd !== undefined && { limits: { max_budget_usd } }),
      ...(restored && { restored }),
      manifest: partManifest(parent, plan),
      child: { plan, costs: parent.costs },
    })
    thread.events.add(providers.logging.open(store, plan.agent.name))
    if (restored) await goOn(thread, restored)
    // Whoever opens its session by its id has no copy of the files, so that it only reads there.
    await thread.commit({ kind: 'rights', only: tree ? { ...rights.only, writes: [] } : rights.only, depth: plan.depth })
    await thread.commit({ kind: 'mode', mode: rights.mode, by: 'parent' })
    return partOf(thread, () => thread.close().finally(close))
  } catch (error) {
    await close()
    throw error
  }
}

/** What a thread is to the one whose work it does. */
const partOf = (thread: Thread, close: () => Promise<void>): ChildThread => ({
  async run(text, signal) {
    await thread.start()
    await thread.run({ role: 'user', parts: [{ type: 'text', text }], origin: partOrigin }, signal)
    return thread.finish()
  },
  say: (text, interrupt) => (interrupt ? thread.steer(text) : thread.queue.add(text, { origin: partOrigin })),
  get report() {
    return thread.delegation.ownReport
  },
  get said() {
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

/** Ends what the last process left half done, and takes over what waits. */
async function goOn(thread: Thread, { records, unfinished }: Pick<Restored<object>, 'records' | 'unfinished'>): Promise<void> {
  const { kernel, workspace, session_id } = thread
  const reverted = await finishRevert(workspace, session_id, records)
  if (reverted !== undefined) await thread.commit(finished(reverted))
  await closeUnfinished(thread, unfinished)
  await settleParts(thread, records)
  await thread.queue.load(thread.state.applied)
  // Whoever goes on and names a mode has the last word.
  const named = kernel.inspection.origins().some(({ path, layer }) => path === 'policy.mode' && layer === 'call')
  if (named && thread.state.mode !== undefined) await thread.setMode(kernel.inspection.resolveMode())
}
