import { conversationFrom, problem, type JsonObject, type OpenConversation, type Result } from '../../core/base/index.js'
import type { Kernel } from '../../core/kernel/index.js'
import { compile } from '../../core/schema/index.js'
import type { Delegation } from './delegation/index.js'
import type { Finish } from './finish/index.js'
import type { SessionTasks } from './schedule/index.js'

/** A conversation, as far as its services need it. */
interface ServedConversation {
  readonly kernel: Kernel
  readonly completion: Finish
  readonly tasks: SessionTasks
  readonly delegation: Delegation
}

/** The call of an action, as far as the action depends on it. */
interface CallScope extends Pick<Parameters<OpenConversation>[0], 'signal' | 'ask'> {
  call_id: string | undefined
}
type Action = (thread: ServedConversation, input: any, call: CallScope) => Result | Promise<Result>

/** What each service does, by the slot whose input schema its input has to fit. */
const actions: Record<string, Record<string, { slot: string; perform: Action }>> = {
  tracker: {
    create: { slot: 'task_tracker/create', perform: ({ completion }, input) => completion.create(input) },
    update: { slot: 'task_tracker/update', perform: ({ completion }, input) => completion.update(input) },
    add: { slot: 'task_tracker/add', perform: ({ completion }, { item, after }) => completion.add(item, after) },
    list: { slot: 'task_tracker/list', perform: ({ completion }) => completion.list() },
  },
  plan: {
    propose: { slot: 'propose_plan', perform: ({ completion }, input, { ask, signal }) => completion.plans.propose(input, ask, signal) },
  },
  schedule: {
    create: { slot: 'cron/create', perform: ({ tasks }, input) => tasks.tool.create(input) },
    list: { slot: 'cron/list', perform: ({ tasks }) => tasks.tool.list() },
    delete: { slot: 'cron/delete', perform: ({ tasks }, { id }) => tasks.tool.delete(id) },
  },
  delegation: {
    spawn: { slot: 'agents/spawn', perform: ({ delegation }, input, { signal, call_id }) => delegation.spawn(input, signal, call_id) },
    send: { slot: 'agents/send', perform: ({ delegation }, { id, message, interrupt = false }) => delegation.send(id, message, interrupt) },
    wait: { slot: 'agents/wait', perform: ({ delegation }, { ids, mode, timeout_secs }, { signal }) => delegation.wait(ids, mode, timeout_secs, signal) },
    list: { slot: 'agents/list', perform: ({ delegation }) => delegation.list() },
    close: { slot: 'agents/close', perform: ({ delegation }, { id, merge = false }, { signal }) => delegation.close(id, merge, signal) },
  },
  report: {
    finish: { slot: 'report_result', perform: ({ delegation }, input) => delegation.finishWith(input) },
  },
}

/** The services of a conversation for one of its calls. A plugin gets functions over data, and no way to the conversation itself. */
export const servicesOf = (thread: ServedConversation, call_id: string | undefined): OpenConversation => (call) =>
  conversationFrom(async (service, action, given) => {
    const { slot, perform } = actions[service]![action]!
    return perform(thread, await checkedInput(thread, slot, given), { ...call, call_id })
  })

/** A copy of an input that fits its slot. Throws VT_INPUT_INVALID. */
async function checkedInput({ kernel }: ServedConversation, slot: string, given: JsonObject): Promise<JsonObject> {
  const input = JSON.parse(JSON.stringify(given ?? {})) as JsonObject
  const { input: schema = {} } = (await kernel.resolve(slot, {}))?.slot ?? {}
  const [issue] = (await compile(schema, slot))(input)
  if (issue) throw problem('VT_INPUT_INVALID', { problem: issue.problem })
  return input
}
