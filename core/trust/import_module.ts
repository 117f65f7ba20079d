import { statSync } from 'node:fs'
import { register } from 'node:module'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { programFile } from '../system/index.js'
import { closeCopies, findCopyRoot, hasModuleSyntax, MODULE_MARK, requireCopied, type Closing } from './module_hooks.js'

/** True if the process loads consented code only. */
export interface Loading {
  alone?: true
}
type Compiler = ReturnType<(typeof import('jiti'))['createJiti']>
type Options = NonNullable<Parameters<(typeof import('jiti'))['createJiti']>[1]>

/**
 * Imports a module of a plugin: `x.ts` where there is no `x.js`. The module can import `vtcode` and `vtcode/test`,
 * which are this program; in a copy of consented files it can import nothing else from outside. A `.js` file with the
 * syntax of a module is one, whatever the nearest package.json says.
 */
export async function importPluginModule(path: string, how: Loading = {}): Promise<unknown> {
  const { file, version } = findModuleSource(path)
  const byNode = (): Promise<unknown> => {
    registerHooks(file, how)
    return import(`${pathToFileURL(file).href}?v=${version}${hasModuleSyntax(file) ? MODULE_MARK : ''}`)
  }
  if (!/\.m?ts$/.test(file)) return byNode()
  const byCompiler = async (): Promise<unknown> => (await createCompiler(file, how)).import(file)
  // In a process for consented code, Node compiles TypeScript itself: its warning and its cache do no harm there. If
  // that fails, for example with enums or a name without its ending, jiti compiles the file.
  return how.alone && (process.features as { typescript?: string | false }).typescript
    ? byNode().catch(byCompiler)
    : byCompiler()
}

/** Creates a compiler that loads TypeScript files of plugins. */
export async function createCompiler(file: string, how: Loading = {}, more: Options = {}): Promise<Compiler> {
  registerHooks(file, how)
  const { createJiti } = await import('jiti')
  const options = { fsCache: false, moduleCache: false, alias: PROGRAM_NAMES, ...more }
  if (findCopyRoot(file) === undefined) return createJiti(import.meta.url, options)
  const usual = createJiti(import.meta.url, options)
  const transform: NonNullable<Options['transform']> = (what) => {
    requireCopied(what.filename ?? file, file)
    return { code: usual.transform(what) }
  }
  return createJiti(import.meta.url, { ...options, transform })
}

/**
 * Finds `x.js`, or `x.ts` if only that exists: one manifest serves source and build. The version makes a changed file a
 * new module.
 */
export function findModuleSource(path: string): { file: string; version: string } {
  for (const file of [path, path.replace(/\.(m?)js$/, '.$1ts')]) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat) return { file, version: `${stat.mtimeMs}-${stat.size}` }
  }
  throw new Error('the file does not exist')
}

/** A file that was changed so long ago is complete. */
const RECENT_MS = 1_000
const PAUSE_MS = 200
const MAX_PAUSES = 10

/**
 * Loads a module. If that fails while its file is being written, loads it again after the last change; without a path,
 * only once.
 */
export async function retryWhileWritten<T>(path: string | undefined, load: () => Promise<T>): Promise<T> {
  for (let pauses = 0; ; pauses++) {
    const before = readVersion(path)
    const began = Date.now()
    try {
      return await load()
    } catch (error) {
      if (before === undefined || pauses >= MAX_PAUSES || began - before.changed > RECENT_MS) throw error
      await sleep(PAUSE_MS)
      if (readVersion(path)?.version === before.version) throw error
    }
  }
}

function readVersion(path: string | undefined): { version: string; changed: number } | undefined {
  if (path === undefined) return undefined
  try {
    const { file, version } = findModuleSource(path)
    return { version, changed: statSync(file).mtimeMs }
  } catch {
    return undefined
  }
}

/** Modules that the names `vtcode` and `vtcode/test` import, in every file. */
const PROGRAM_NAMES = { 'vtcode/test': programFile('test/kit.js'), vtcode: programFile('core/index.js') }

let registered = false

/** Lets all modules import the running program as `vtcode`, and closes the copies of consented files. */
function registerHooks(file: string, { alone }: Loading): void {
  const names = Object.fromEntries(
    Object.entries(PROGRAM_NAMES).map(([name, file]) => [name, pathToFileURL(file).href]),
  )
  const copy = findCopyRoot(file)
  const closed = alone &&
    copy !== undefined && { alone: { ours: findPackagesFolder(programFile()), shelf: dirname(copy) } }
  const closing: Closing = { names, ...closed }
  if (copy !== undefined) closeCopies(closing)
  if (registered) return
  registered = true
  register(pathToFileURL(programFile('core/trust/module_hooks.js')).href, { data: closing })
}

/** Returns the folder of a program and its packages. */
function findPackagesFolder(folder: string): string {
  const at = folder.indexOf('/node_modules/')
  return at < 0 ? `${dirname(folder.replace(/\/$/, ''))}/` : folder.slice(0, at + '/node_modules/'.length)
}
