/**
 * Module hooks, which Node runs in a separate thread: `vtcode` and `vtcode/test` are the running program, and a copy of
 * consented files is closed.
 */
import { readFileSync } from 'node:fs'
import Module, { isBuiltin } from 'node:module'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { compileFunction } from 'node:vm'

/** Names of this program's modules, with their URLs. */
export type OwnNames = Readonly<Record<string, string>>
export interface Closing {
  names: OwnNames
  /** Set if the process loads consented code only: files below the folder `ours`, and copies in the folder `shelf`. */
  alone?: { ours: string; shelf: string }
}
let closing: Closing = { names: {} }

export function initialize(how: Closing): void {
  closing = how
}

type Resolved = { url: string; shortCircuit?: boolean }

/** Marks the URL of a `.js` file that is loaded as a module. */
export const MODULE_MARK = '&module'

/** Returns whether a `.js` file has the syntax of a module, as Node finds out: it does not compile as CommonJS. */
export function hasModuleSyntax(file: string): boolean {
  if (!file.endsWith('.js')) return false
  try {
    compileFunction(readFileSync(file, 'utf8'), ['exports', 'require', 'module', '__filename', '__dirname'])
    return false
  } catch (error) {
    return error instanceof SyntaxError
  }
}

/** Loads marked files as modules. */
export async function load<T>(
  url: string,
  context: { format?: string | null },
  next: (url: string, context: unknown) => Promise<T>,
): Promise<T> {
  return next(url, url.endsWith(MODULE_MARK) ? { ...context, format: 'module' } : context)
}

/**
 * Returns the copy of consented files that contains a file. A repository may use such a folder name too, so the folder
 * of the copies counts if it is known.
 */
export function findCopyRoot(file: string, shelf?: string): string | undefined {
  const copy = /^(.*?[\\/]agreed[\\/][0-9a-f]{64})(?:[\\/]|$)/.exec(file)?.[1]
  return shelf === undefined || copy === undefined || dirname(copy) === shelf ? copy : undefined
}

const toPath = (url: string): string | undefined => (url.startsWith('file:') ? fileURLToPath(url) : undefined)

const createNotConsentedError = (name: string): Error =>
  Object.assign(new Error(`'${name}' is not among the files that you agreed to; other files are not loaded`), {
    code: 'ERR_MODULE_NOT_FOUND',
  })

/**
 * Returns whether a file may load another. In a process for consented code, only the target decides, because the
 * importing file can be faked.
 */
function canLoad(parent: string, target: string, { alone }: Closing): boolean {
  const [from, to] = [findCopyRoot(parent, alone?.shelf), findCopyRoot(target, alone?.shelf)]
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
  const target = toPath(found.url)
  // A data URL of consented code is consented too; it may import no file.
  if (parentURL.startsWith('data:')) throw createNotConsentedError(specifier)
  if (target !== undefined && !canLoad(toPath(parentURL) ?? '', target, closing))
    throw createNotConsentedError(specifier)
  // Imports of a marked file may be modules for the same reason.
  const inherits = parentURL.endsWith(MODULE_MARK) && target !== undefined && !target.includes('/node_modules/')
  return inherits && hasModuleSyntax(target) ? { ...found, url: `${found.url}?v=0${MODULE_MARK}` } : found
}

interface Resolver {
  _resolveFilename(request: string, parent?: { filename?: string | null }, ...rest: unknown[]): string
}
let closed = false

/** Closes copies of consented files for `require` too, which module hooks do not cover on every version of Node. */
export function closeCopies(closing: Closing): void {
  if (closed) return
  closed = true
  const { names, alone } = closing
  const modules = Module as unknown as Resolver
  const usual = modules._resolveFilename
  modules._resolveFilename = function (request, parent, ...rest) {
    const from = parent?.filename ?? ''
    const inCopy = findCopyRoot(from, alone?.shelf) !== undefined
    if (inCopy && Object.hasOwn(names, request)) return fileURLToPath(names[request]!)
    const found = usual.call(this, request, parent, ...rest)
    if (isBuiltin(found) || canLoad(from, found, closing)) return found
    throw createNotConsentedError(request)
  }
}

/** Throws for a file outside the copy of the importing file. */
export function requireCopied(file: string, from: string): void {
  if (findCopyRoot(file) !== findCopyRoot(from)) throw createNotConsentedError(file)
}
