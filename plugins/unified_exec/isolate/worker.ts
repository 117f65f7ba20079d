import variant from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSRuntime,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { prelude, SCRIPT_NAME } from './prelude.js'
import type { IsolateAnswer, IsolateEnd, IsolateJob, IsolateMessage, IsolateRequest } from './protocol.js'

/** The stack of an isolate in bytes; the thread has sixteen times as much. */
const STACK_BYTES = 1024 * 1024
/** Memory of the engine after which the thread ends with its script, because such memory never shrinks. */
const SPENT_BYTES = 32 * 1024 * 1024
const MAX_TIMER_MS = 2 ** 31 - 1

const port = process.getBuiltinModule('node:worker_threads').parentPort!
const post = (message: IsolateMessage): void => port.postMessage(message)

/** Messages of the code in an isolate that the thread handles itself. */
type OwnMessage =
  | { op: 'timer'; id: number; ms: number }
  | { op: 'clear'; id: number }
  | ({ op: 'done' | 'failed' } & Record<string, unknown>)

class SyntaxProblem extends Error {}

/** One isolate: a fresh runtime that runs one script. */
class Isolate {
  readonly #runtime: QuickJSRuntime
  readonly #context: QuickJSContext
  readonly #members: QuickJSHandle
  readonly #timers = new Map<number, NodeJS.Timeout>()
  readonly #pending = new Set<number>()
  #end: ((end: IsolateEnd) => void) | undefined
  /** The script has returned or thrown: nothing of it counts any more. */
  #over = false

  constructor(engine: QuickJSWASMModule) {
    this.#runtime = engine.newRuntime()
    this.#runtime.setMaxStackSize(STACK_BYTES)
    this.#runtime.setModuleLoader((name) => ({
      error: new Error(`Cannot import '${name}': this runtime has no modules. For Node, set language: node.`),
    }))
    this.#context = this.#runtime.newContext()
    const host = this.#context.newFunction('host', (text) => {
      this.#receive(JSON.parse(this.#context.getString(text)) as IsolateRequest | OwnMessage)
    })
    const start = this.#context.unwrapResult(this.#context.evalCode(prelude, 'prelude.js', { type: 'global' }))
    this.#members = this.#context.unwrapResult(this.#context.callFunction(start, this.#context.undefined, host))
    start.dispose()
    host.dispose()
  }

  run({ code, memory_bytes, functions, input }: IsolateJob, end: (end: IsolateEnd) => void): void {
    this.#runtime.setMemoryLimit(memory_bytes)
    this.#end = end
    this.#guard(async () => {
      this.#callMember('defineGlobals', JSON.stringify({ functions, input }))
      await this.#start(code)
      this.#pump()
    })
  }

  deliver({ id, answer }: IsolateAnswer): void {
    if (this.#over || !this.#pending.delete(id)) return
    this.#guard(() => {
      this.#callMember('deliver', answer)
      this.#pump()
    })
  }

  dispose(): void {
    for (const timer of this.#timers.values()) clearTimeout(timer)
    this.#members.dispose()
    this.#context.dispose()
    this.#runtime.dispose()
  }

  /** Reports an error of the engine itself, which a script cannot catch. */
  #guard(work: () => void | Promise<void>): void {
    const fail = (error: unknown): void =>
      this.#finish(
        error instanceof SyntaxProblem
          ? { end: 'invalid', text: error.message }
          : { end: 'broken', text: String(error).split('\n', 1)[0]! },
      )
    try {
      work()?.catch(fail)
    } catch (error) {
      fail(error)
    }
  }

  #finish(end: IsolateEnd): void {
    const report = this.#end
    this.#end = undefined
    this.#over = true
    report?.(end)
  }

  #receive(message: IsolateRequest | OwnMessage): void {
    if (this.#over) return
    switch (message.op) {
      case 'timer':
        return this.#setTimer(message.id, message.ms)
      case 'clear':
        clearTimeout(this.#timers.get(message.id))
        this.#timers.delete(message.id)
        return
      case 'done':
      case 'failed': {
        const { op, ...about } = message
        this.#over = true
        for (const timer of this.#timers.values()) clearTimeout(timer)
        // The engine is still in its jobs.
        setImmediate(() => this.#finish({ ...about, end: op } as unknown as IsolateEnd))
        return
      }
      case 'print':
        return post({ request: message })
      default:
        this.#pending.add(message.id)
        post({ request: message })
    }
  }

  #setTimer(id: number, ms: number): void {
    const run = () =>
      this.#guard(() => {
        this.#timers.delete(id)
        this.#callMember('deliver', JSON.stringify({ timer: id }))
        this.#pump()
      })
    this.#timers.set(id, setTimeout(run, Math.min(Math.max(ms, 0), MAX_TIMER_MS)))
  }

  /** Runs the jobs of settled promises. A script that waits for nothing can never end. */
  #pump(): void {
    this.#context.unwrapResult(this.#runtime.executePendingJobs())
    if (this.#pending.size > 0 || this.#timers.size > 0) return
    // A report of the end comes first.
    setImmediate(() => {
      if (this.#pending.size === 0 && this.#timers.size === 0) this.#finish({ end: 'unsettled' })
    })
  }

  /** Starts the script as the body of a function, or as a module; without its types if it does not parse. */
  async #start(code: string): Promise<void> {
    const forms = /^\s*(?:export\b|import\b(?!\s*[.(]))/m.test(code)
      ? [this.#startModule, this.#startFunction]
      : [this.#startFunction, this.#startModule]
    let problem: string | undefined
    for (const form of forms) {
      const found = form.call(this, code)
      if (found === undefined) return
      problem ??= found
    }
    const { stripTypes } = await import('./strip_types.js')
    let plain: string
    try {
      plain = stripTypes(code)
    } catch (error) {
      // Its position is that of TypeScript's reading; the engine's message names the construct.
      throw new SyntaxProblem(`${problem!}\n${(error as Error).message}`)
    }
    for (const form of forms) if (form.call(this, plain) === undefined) return
    throw new SyntaxProblem(problem)
  }

  #startFunction(code: string): string | undefined {
    const wrapped = `(async () => {${code}\n})`
    const compiled = this.#context.evalCode(wrapped, SCRIPT_NAME, { type: 'global', compileOnly: true })
    if (compiled.error) return this.#describeProblem(compiled.error)
    compiled.value.dispose()
    // Code that closes the function runs here, and only here: an error of it is its end.
    const made = this.#context.evalCode(wrapped, SCRIPT_NAME, { type: 'global' })
    if (made.error) {
      this.#reject(made.error, false)
      return undefined
    }
    const promise = this.#context.unwrapResult(this.#context.callFunction(made.value, this.#context.undefined))
    made.value.dispose()
    this.#await(promise, false)
    return undefined
  }

  #startModule(code: string): string | undefined {
    const compiled = this.#context.evalCode(code, SCRIPT_NAME, { type: 'module', compileOnly: true })
    if (compiled.error) return this.#describeProblem(compiled.error)
    compiled.value.dispose()
    const made = this.#context.evalCode(code, SCRIPT_NAME, { type: 'module' })
    // A module without await throws at once.
    if (made.error) this.#reject(made.error, true)
    else this.#await(made.value, true)
    return undefined
  }

  #reject(error: QuickJSHandle, isModule: boolean): void {
    const rejected = this.#context.newPromise()
    rejected.reject(error)
    error.dispose()
    this.#await(rejected.handle, isModule)
  }

  /** Describes a syntax error, and disposes it. Throws what else the engine reports, such as missing memory. */
  #describeProblem(error: QuickJSHandle): string {
    const context = this.#context
    const read = (name: string): string => {
      using value = context.getProp(error, name)
      return context.getString(value)
    }
    const [name, message, stack] = [read('name'), read('message'), read('stack')]
    error.dispose()
    if (name !== 'SyntaxError') throw new Error(`${name}: ${message}`)
    const [, line, column] = /:(\d+):(\d+)/.exec(stack) ?? []
    return `SyntaxError: ${message}${line === undefined ? '' : ` (line ${line}, column ${column})`}`
  }

  #await(promise: QuickJSHandle, isModule: boolean): void {
    const context = this.#context
    using finish = context.getProp(this.#members, 'finish')
    const flag = isModule ? context.true : context.false
    context.unwrapResult(context.callFunction(finish, context.undefined, promise, flag)).dispose()
    promise.dispose()
  }

  #callMember(name: string, text: string): void {
    const context = this.#context
    using member = context.getProp(this.#members, name)
    using argument = context.newString(text)
    context.unwrapResult(context.callFunction(member, context.undefined, argument)).dispose()
  }
}

// A module gives the variant itself, a script a namespace.
const loaded = (variant as { default?: QuickJSSyncVariant }).default ?? (variant as unknown as QuickJSSyncVariant)
void newQuickJSWASMModuleFromVariant(loaded).then((engine) => {
  let next: Isolate | undefined = new Isolate(engine)
  let current: Isolate | undefined
  let job = 0
  port.on('message', (message: IsolateJob | IsolateAnswer) => {
    if ('answer' in message) return message.job === job ? current?.deliver(message) : undefined
    job = message.job
    const isolate = (current = next ?? new Isolate(engine))
    next = undefined
    isolate.run(message, (end) => {
      current = undefined
      let spent = end.end === 'broken' || engine.getWasmMemory().buffer.byteLength > SPENT_BYTES
      // The answer does not wait for the next isolate.
      post({ ...end, spent })
      if (spent) return
      try {
        isolate.dispose()
        next = new Isolate(engine)
      } catch {
        spent = true
        process.exit()
      }
    })
  })
  post({ ready: true })
})
