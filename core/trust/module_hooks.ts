/** Module hooks, run by Node in a thread of its own: the bare names `vtcode` and `vtcode/test` are the running program, and a copy of agreed files is closed. */
import { realpathSync } from 'node:fs'
import Module, { isBuiltin, register, syncBuiltinESMExports } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { WorkerOptions } from 'node:worker_threads'

/** Names that mean this program, and where its parts lie. */
export type OwnNames = Readonly<Record<string, string>>
export interface Closing {
  names: OwnNames
  /** The process loads agreed code only: whoever asks, nothing is loaded but what lies below these folders of ours, and in copies on this shelf; `hooks` is the address of this file. */
  alone?: { ours: string; shelf: string; hooks: string }
}
let closing: Closing = { names: {} }

export function initialize(how: Closing): void {
  closing = how
}

/** The compiler of TypeScript. */
const jiti = '/lib/jiti.mjs'

type Resolved = { url: string; shortCircuit?: boolean }

/** The copy of agreed files that a file lies in. A repository may name a folder like one, so where the shelf of the copies is known it counts. */
export function copyAround(file: string, shelf?: string): string | undefined {
  const copy = /^(.*?[\\/]agreed[\\/][0-9a-f]{64})(?:[\\/]|$)/.exec(file)?.[1]
  return shelf === undefined || copy === undefined || dirname(copy) === shelf ? copy : undefined
}

const pathOf = (url: string): string | undefined => (url.startsWith('file:') ? fileURLToPath(url) : undefined)

const notAgreed = (name: string): Error =>
  Object.assign(new Error(`'${name}' is not among the files that were agreed to, and nothing else is loaded`), { code: 'ERR_MODULE_NOT_FOUND' })

/** Whether a file may load another. It is the target that decides where only agreed code runs: who asks can be made up. */
function mayLoad(parent: string, target: string, { alone }: Closing): boolean {
  const [from, to] = [copyAround(parent, alone?.shelf), copyAround(target, alone?.shelf)]
  if (from !== undefined) return to === from
  return alone === undefined || to !== undefined || target.startsWith(alone.ours)
}

export async function resolve(specifier: string, context: { parentURL?: string }, next: (specifier: string, context: unknown) => Promise<Resolved>): Promise<Resolved> {
  const { names, alone } = closing
  const url = Object.hasOwn(names, specifier) ? names[specifier] : undefined
  if (url) return { url, shortCircuit: true }
  const { parentURL = '' } = context
  const parent = pathOf(parentURL) ?? ''
  const isData = parentURL.startsWith('data:')
  const isForeign = isData || copyAround(parent, alone?.shelf) !== undefined
  if (!isForeign && !alone) return next(specifier, context)
  if (isForeign && specifier.startsWith('vtcode/')) throw notAgreed(specifier)
  const found = await next(specifier, context)
  if (/^(?:node|data):/.test(found.url)) return found
  const target = pathOf(found.url)
  // What agreed code writes as data is agreed; through it no file is reached.
  if (target === undefined || isData || !mayLoad(parent, target, closing)) throw notAgreed(specifier)
  // The compiler of TypeScript imports on behalf of others: what is ours is for itself alone.
  const forOthers = alone && parent.endsWith(jiti) && copyAround(target, alone.shelf) === undefined && !Object.values(names).includes(found.url)
  if (forOthers && !target.startsWith(`${parent.slice(0, -jiti.length)}/dist/`)) throw notAgreed(specifier)
  return found
}

interface Resolver {
  _resolveFilename(request: string, parent?: { filename?: string | null }, ...rest: unknown[]): string
  _extensions: Record<string, (module: unknown, file: string) => unknown>
}
let closed = false

/**
 * Closes copies of agreed files for `require` too, which module hooks do not see on every version of Node. A process for agreed code alone
 * opens no other file, be it asked for by a `require` made for another place, by no module at all, or past the search for its name.
 */
export function closeCopies(closing: Closing): void {
  if (closed) return
  closed = true
  const { names, alone } = closing
  const modules = Module as unknown as Resolver
  const usual = modules._resolveFilename
  modules._resolveFilename = function (request, parent, ...rest) {
    const from = parent?.filename ?? ''
    if (copyAround(from, alone?.shelf) !== undefined) {
      if (Object.hasOwn(names, request)) return fileURLToPath(names[request]!)
      if (request.startsWith('vtcode/')) throw notAgreed(request)
    }
    const found = usual.call(this, request, parent, ...rest)
    if (isBuiltin(found) || mayLoad(from, found, closing)) return found
    throw notAgreed(request)
  }
  if (!alone) return
  for (const [ending, read] of Object.entries(modules._extensions)) {
    modules._extensions[ending] = function (module, file) {
      if (!mayLoad('', realpathSync(file), closing)) throw notAgreed(file)
      return read.call(this, module, file)
    }
  }
  closeWorkers(closing, alone.hooks)
}

const asData = (text: string): URL => new URL(`data:text/javascript,${encodeURIComponent(text)}`)

/** Threads begin with modules of their own, which nobody has closed: each closes them first. */
function closeWorkers(closing: Closing, hooks: string): void {
  const threads = process.getBuiltinModule('node:worker_threads')
  const first = `import { closeThread } from ${JSON.stringify(hooks)}\ncloseThread(${JSON.stringify(closing)})`
  threads.Worker = class extends threads.Worker {
    constructor(file: string | URL, options: WorkerOptions = {}) {
      const { execArgv = ['--no-warnings'], eval: isText } = options
      // Node runs a text before what is to be imported first; as a module it comes after.
      const text = `import { createRequire } from 'node:module'\nglobalThis.require = createRequire(process.cwd() + '/')\n;(0, eval)(${JSON.stringify(String(file))})`
      super(isText ? asData(text) : file, { ...options, eval: false, execArgv: [...execArgv, '--import', asData(first).href] })
    }
  }
  syncBuiltinESMExports()
}

/** Closes the modules of a thread whose process loads agreed code alone. */
export function closeThread(closing: Closing): void {
  closeCopies(closing)
  register(closing.alone!.hooks, { data: closing })
}

/** Throws for a file that agreed code of one copy may not have from elsewhere. */
export function requireCopied(file: string, from: string): void {
  if (copyAround(file) !== copyAround(from)) throw notAgreed(file)
}
