import {
  createConversation,
  problem,
  type JsonObject,
  type Mode,
  type OpenConversation,
  type Result,
  type RightsScope,
} from '../../core/shapes/index.js'
import type { Kernel, ScriptJournal } from '../../core/contract/index.js'
import { compile } from '../../core/schema/index.js'
import type { Delegation } from './delegation/index.js'
import type { Finish } from './finish/index.js'
import type { SessionTasks } from './schedule/index.js'
import type { Conversation } from './session/index.js'

/** The parts of a conversation that its services need. */
interface ServedConversation {
  readonly kernel: Kernel
  readonly mode: Mode
  readonly only: RightsScope | undefined
  readonly completion: Finish
  readonly tasks: SessionTasks
  readonly delegation: Delegation
}

/** The parts of a call that its action needs. */
interface CallScope {
  signal: AbortSignal
  ask: Parameters<OpenConversation>[0]['ask']
  foreign: boolean
  call_id: string | undefined
}
type Action = (thread: ServedConversation, input: any, call: CallScope) => Result | Promise<Result>

/** The actions of each service, with the slot whose schema checks their input. */
const actions: Record<string, Record<string, { slot: string; perform: Action }>> = {
  tracker: {
    create: { slot: 'task_tracker/create', perform: ({ completion }, input) => completion.create(input) },
    update: { slot: 'task_tracker/update', perform: ({ completion }, input) => completion.update(input) },
    add: { slot: 'task_tracker/add', perform: ({ completion }, { item, after }) => completion.add(item, after) },
    list: { slot: 'task_tracker/list', perform: ({ completion }) => completion.list() },
  },
  plan: {
    propose: {
      slot: 'propose_plan',
      perform: ({ completion }, input, { ask, signal }) => completion.plans.propose(input, ask, signal),
    },
  },
  schedule: {
    create: { slot: 'cron/create', perform: ({ tasks }, input) => tasks.tool.create(input) },
    list: { slot: 'cron/list', perform: ({ tasks }) => tasks.tool.list() },
    delete: { slot: 'cron/delete', perform: ({ tasks }, { id }) => tasks.tool.delete(id) },
  },
  delegation: {
    spawn: {
      slot: 'agents/spawn',
      perform: ({ delegation }, input, { signal, call_id }) => delegation.spawn(input, signal, call_id),
    },
    send: {
      slot: 'agents/send',
      perform: ({ delegation }, { id, message, interrupt = false }) => delegation.send(id, message, interrupt),
    },
    wait: {
      slot: 'agents/wait',
      perform: ({ delegation }, { ids, mode, timeout_secs }, { signal }) =>
        delegation.wait(ids, mode, timeout_secs, signal),
    },
    list: { slot: 'agents/list', perform: ({ delegation }) => delegation.list() },
    close: {
      slot: 'agents/close',
      perform: ({ delegation }, { id, merge = false }, { signal }) => delegation.close(id, merge, signal),
    },
  },
  report: {
    finish: { slot: 'report_result', perform: ({ delegation }, input) => delegation.finishWith(input) },
  },
}

/**
 * Creates the services of a conversation for one call. Plugins get functions over data, never the conversation
 * itself.
 */
export const createServices =
  (thread: ServedConversation, call_id: string | undefined): OpenConversation =>
  (call) =>
    createConversation(async (service, action, given) => {
      const { slot, perform } = actions[service]![action]!
      const input = await checkInput(thread, slot, given)
      // The policies judged only the call itself; actions of other slots are judged here. A plugin gets none of these:
      // an agent or a schedule that it starts would have more effects than its own.
      if (call.foreign && getTool(slot) !== getTool(call.slot))
        throw problem('VT_POLICY_DENIED', { reason: `${slot}: a plugin may use only the actions of its own tool.` })
      if (slot !== call.slot) await requireAllowed(thread, slot, input)
      return perform(thread, input, { ...call, call_id })
    })

const getTool = (slot: string): string => slot.split('/')[0]!

/**
 * Returns a copy of an input that fits its slot. Throws VT_INPUT_INVALID, and VT_AGENT_NONE where no plugin serves
 * the slot.
 */
async function checkInput({ kernel }: ServedConversation, slot: string, given: JsonObject): Promise<JsonObject> {
  const input = JSON.parse(JSON.stringify(given ?? {})) as JsonObject
  const found = await kernel.resolve(slot, {})
  if (!found) throw problem('VT_AGENT_NONE', { slot })
  const [issue] = (await compile(found.slot.input, slot))(input)
  if (issue) throw problem('VT_INPUT_INVALID', { problem: issue.problem })
  return input
}

/** Throws VT_POLICY_DENIED for a call that the policies do not let run unasked. */
async function requireAllowed(
  { kernel, mode, only }: ServedConversation,
  slot: string,
  input: JsonObject,
): Promise<void> {
  const { verdict, reason } = await kernel.explain(slot, input, { mode, audiences: ['agent'], ...(only && { only }) })
  if (verdict !== 'run') throw problem('VT_POLICY_DENIED', { reason: reason ?? `${slot} is not allowed here.` })
}

/** Keeps the calls and the values of the script of a call in the journal. */
export const createScriptJournal = (
  thread: Pick<Conversation, 'state' | 'commit'>,
  call_id: string,
): ScriptJournal => ({
  record: (call) => thread.commit({ kind: 'script_call', call_id, ...call }),
  get values() {
    return thread.state.stored
  },
  put: (key, value) => thread.commit({ kind: 'store_value', key, ...(value !== undefined && { value }) }),
})
