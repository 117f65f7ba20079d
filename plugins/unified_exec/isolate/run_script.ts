import { setMaxListeners } from 'node:events'
import { problem, type Call, type Context, type Result } from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { AGENT_KEYS, ScriptAgents } from './script_agents.js'
import { renderDeclaration } from './declarations.js'
import { nameFunctions } from './functions.js'
import { runIsolate, type RunningScript } from './isolates.js'
import type { IsolateRequest } from './protocol.js'
import { answerUnexpected, ScriptCalls, type CallAnswer } from './script_calls.js'
import { createResult, type ScriptInput, type ScriptRun } from './script_result.js'
import { answerStore } from './store.js'

const MB = 1024 * 1024
/** Shortest time between two checks of the limit while a person decides. */
const CHECK_MS = 100

/**
 * Runs JavaScript or TypeScript in an isolate without rights: no files, programs or network. Its functions are the
 * tools, and each of its calls is an ordinary call of the session.
 */
export async function runScript(call: Call<ScriptInput>, context: Context): Promise<Result> {
  if (call.input.workdir !== '.')
    throw problem('VT_INPUT_INVALID', {
      problem: "'workdir' is for python3 and node: in language javascript, paths belong to the calls",
    })
  const run = await followScript(call, context)
  if (context.signal.aborted) throw problem('VT_CALL_ABORTED')
  return createResult(run, call.input)
}

async function followScript({ input }: Call<ScriptInput>, context: Context): Promise<ScriptRun> {
  const settings = context.settings.exec
  const stopping = new AbortController()
  // Each call in flight listens.
  setMaxListeners(0, stopping.signal)
  const calls = new ScriptCalls(context, { calls: settings.script_max_calls, signal: stopping.signal }, input.code)
  const agents = new ScriptAgents(context, calls, input)
  const named = nameFunctions(context.host.slots().filter(({ dialect }) => !dialect))
  const printed = { stdout: '', stderr: '' }
  const began = performance.now()
  let why: ScriptRun['why'] = 'ended'
  const script = runIsolate(
    {
      code: input.code,
      ...(input.input !== undefined && { input: input.input }),
      functions: named.map(({ path, slot }) => [path, slot.slot]),
      memory_bytes: settings.script_max_memory_mb * MB,
    },
    (request) => {
      if (request.op === 'print') printed[request.stream] += request.text
      else
        void answerRequest(request, { calls, agents, named, context })
          .then((answer) => JSON.stringify({ id: request.id, ...answer }))
          .then((answer) => {
            if (request.op === 'store') calls.budget.addAnswer(answer.length)
            return answer
          })
          .catch((error: unknown) => JSON.stringify({ id: request.id, ...answerUnexpected(error) }))
          .then((answer) => script.answer({ id: request.id, answer }))
    },
  )
  const stop = (): void => {
    stopping.abort()
    script.stop()
  }
  const seconds = Math.min(input.timeout_secs, settings.max_timeout_secs)
  const timer = limitOwnTime(context, seconds * 1000, script, () => {
    why = 'timeout'
    stop()
  })
  context.signal.addEventListener('abort', stop, { once: true })
  if (context.signal.aborted) stop()
  try {
    const end = await script.ended
    // A call in flight is never left to itself: a change ends, and is in the record.
    await calls.settle()
    return { end, why, calls, ...printed, duration_ms: Math.round(performance.now() - began) }
  } finally {
    timer.clear()
    context.signal.removeEventListener('abort', stop)
  }
}

/** Calls `expire` after `ms` of time from the start in which no person was asked, or in which the script computed. */
function limitOwnTime(context: Context, ms: number, script: RunningScript, expire: () => void): { clear(): void } {
  let began = 0
  let busy = 0
  let timer: NodeJS.Timeout | undefined
  let cleared = false
  const check = (): void => {
    const used = performance.now() - began - context.waited_ms
    const left = ms - Math.max(used, script.measureBusy() - busy)
    if (left <= 0) expire()
    else timer = setTimeout(check, Math.max(left, CHECK_MS))
  }
  void script.started.then(() => {
    began = performance.now()
    busy = script.measureBusy()
    if (!cleared) timer = setTimeout(check, ms)
  })
  return {
    clear() {
      cleared = true
      clearTimeout(timer)
    },
  }
}

interface Services {
  calls: ScriptCalls
  agents: ScriptAgents
  named: ReturnType<typeof nameFunctions>
  context: Context
}

async function answerRequest(
  request: Exclude<IsolateRequest, { op: 'print' }>,
  { calls, agents, named, context }: Services,
): Promise<CallAnswer> {
  if (request.op === 'store') {
    const fault = calls.budget.takeRequest(Buffer.byteLength(request.key) + Buffer.byteLength(request.value ?? ''))
    return fault === undefined
      ? answerOwnStore(context, request)
      : { error: createSlotError('VT_EXEC_STORE', fault, { hint: 'Keep fewer and smaller values.' }).problem }
  }
  if (request.op === 'agent') return agents.run(request)
  if (request.op === 'tools') return findDeclarations(request.query, request.line, calls, named)
  return calls.make(request)
}

/** Answers a request to the store without the keys of kept answers. */
async function answerOwnStore(
  context: Context,
  request: Extract<IsolateRequest, { op: 'store' }>,
): Promise<CallAnswer> {
  if (request.action === 'list') {
    const answer = await answerStore(context, request)
    return 'value' in answer
      ? { value: (answer.value as string[]).filter((key) => !key.startsWith(AGENT_KEYS)) }
      : answer
  }
  if (!request.key.startsWith(AGENT_KEYS)) return answerStore(context, request)
  const message = `Keys that begin with '${AGENT_KEYS}' are those of kept answers.`
  return { error: createSlotError('VT_EXEC_STORE', message, { hint: 'Choose another key.' }).problem }
}

/** Number of declarations that one search returns. */
const MAX_DECLARATIONS = 4

/** Returns the declarations of the functions that fit a query, best first. */
async function findDeclarations(
  query: string,
  line: number,
  calls: ScriptCalls,
  named: Services['named'],
): Promise<CallAnswer> {
  const input = JSON.stringify({ keyword: query, detail_level: 'name-only', max_results: 50 })
  const answer = await calls.make({ tool: 'unified_search/tools', input, line })
  if ('error' in answer) return answer
  const { tools } = answer.value as { tools: { tool: string; action?: string }[] }
  const bySlot = new Map(named.map((one) => [one.slot.slot, one]))
  const found = tools.flatMap(({ tool, action }) => bySlot.get(action === undefined ? tool : `${tool}/${action}`) ?? [])
  return {
    value: found
      .slice(0, MAX_DECLARATIONS)
      .map(({ path, slot }) => renderDeclaration(path, slot))
      .join('\n'),
  }
}
