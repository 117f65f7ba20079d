/** Module hooks, run by Node in a thread of its own: the bare names `vtcode` and `vtcode/test` are the running program, and a copy of agreed files is closed. */
import Module, { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'

/** Names that mean this program, and where its parts lie. */
export type OwnNames = Readonly<Record<string, string>>
export interface Closing {
  names: OwnNames
  /** The process loads agreed code only: files below the folder `ours`, and in copies on this shelf. */
  alone?: { ours: string; shelf: string }
}
let closing: Closing = { names: {} }

export function initialize(how: Closing): void {
  closing = how
}

type Resolved = { url: string; shortCircuit?: boolean }

/** The copy of agreed files that a file lies in. A repository may name a folder like one, so where the shelf of the copies is known it counts. */
export function copyAround(file: string, shelf?: string): string | undefined {
  const copy = /^(.*?[\\/]agreed[\\/][0-9a-f]{64})(?:[\\/]|$)/.exec(file)?.[1]
  return shelf === undefined || copy === undefined || dirname(copy) === shelf ? copy : undefined
}

const pathOf = (url: string): string | undefined => (url.startsWith('file:') ? fileURLToPath(url) : undefined)

const notAgreed = (name: string): Error =>
  Object.assign(new Error(`'${name}' is not among the files that were agreed to, and nothing else is loaded`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })

/** Whether a file may load another. The target decides where only agreed code runs: which file asks can be made up. */
function mayLoad(parent: string, target: string, { alone }: Closing): boolean {
  const [from, to] = [copyAround(parent, alone?.shelf), copyAround(target, alone?.shelf)]
  if (from !== undefined) return to === from
  return alone === undefined || to !== undefined || target.startsWith(alone.ours)
}

export async function resolve(
  specifier: string,
  context: { parentURL?: string },
  next: (specifier: string, context: unknown) => Promise<Resolved>,
): Promise<Resolved> {
  const { names } = closing
  const url = Object.hasOwn(names, specifier) ? names[specifier] : undefined
  if (url) return { url, shortCircuit: true }
  const { parentURL = '' } = context
  const found = await next(specifier, context)
  if (/^(?:node|data):/.test(found.url)) return found
  const target = pathOf(found.url)
  // What agreed code writes as data is agreed; through it no file is reached.
  if (parentURL.startsWith('data:')) throw notAgreed(specifier)
  if (target !== undefined && !mayLoad(pathOf(parentURL) ?? '', target, closing)) throw notAgreed(specifier)
  return found
}

interface Resolver {
  _resolveFilename(request: string, parent?: { filename?: string | null }, ...rest: unknown[]): string
}
let closed = false

/** Closes copies of agreed files for `require` too, which module hooks do not see on every version of Node. */
export function closeCopies(closing: Closing): void {
  if (closed) return
  closed = true
  const { names, alone } = closing
  const modules = Module as unknown as Resolver
  const usual = modules._resolveFilename
  modules._resolveFilename = function (request, parent, ...rest) {
    const from = parent?.filename ?? ''
    const inCopy = copyAround(from, alone?.shelf) !== undefined
    if (inCopy && Object.hasOwn(names, request)) return fileURLToPath(names[request]!)
    const found = usual.call(this, request, parent, ...rest)
    if (isBuiltin(found) || mayLoad(from, found, closing)) return found
    throw notAgreed(request)
  }
}

/** Throws for a file that agreed code of one copy may not have from elsewhere. */
export function requireCopied(file: string, from: string): void {
  if (copyAround(file) !== copyAround(from)) throw notAgreed(file)
}
