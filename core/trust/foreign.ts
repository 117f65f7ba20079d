import { statSync } from 'node:fs'
import { register } from 'node:module'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { programFile } from '../system/index.js'
import { closeCopies, copyAround, requireCopied, type Closing } from './module_hooks.js'

/** This process loads agreed code only. */
export interface Loading {
  alone?: true
}
type Compiler = ReturnType<(typeof import('jiti'))['createJiti']>
type Options = NonNullable<Parameters<(typeof import('jiti'))['createJiti']>[1]>

/**
 * A foreign module, `x.ts` where there is no `x.js`; it can import the names `vtcode` and `vtcode/test`, which are this program, and in a copy
 * of agreed files nothing but those.
 */
export async function importForeign(path: string, how: Loading = {}): Promise<unknown> {
  const { file, version } = moduleSource(path)
  const byNode = (): Promise<unknown> => {
    prepare(file, how)
    return import(`${pathToFileURL(file).href}?v=${version}`)
  }
  if (!/\.m?ts$/.test(file)) return byNode()
  const byCompiler = async (): Promise<unknown> => (await compilerFor(file, how)).import(file)
  // Node warns of its TypeScript and keeps what a module imports, which is no matter in a process for agreed code. What it cannot load, such as enums or a name without its ending, is compiled.
  return how.alone && (process.features as { typescript?: string | false }).typescript
    ? byNode().catch(byCompiler)
    : byCompiler()
}

/** What compiles and loads a foreign file in TypeScript. */
export async function compilerFor(file: string, how: Loading = {}, more: Options = {}): Promise<Compiler> {
  prepare(file, how)
  const { createJiti } = await import('jiti')
  const options = { fsCache: false, moduleCache: false, alias: own, ...more }
  if (copyAround(file) === undefined) return createJiti(import.meta.url, options)
  const usual = createJiti(import.meta.url, options)
  const transform: NonNullable<Options['transform']> = (what) => {
    requireCopied(what.filename ?? file, file)
    return { code: usual.transform(what) }
  }
  return createJiti(import.meta.url, { ...options, transform })
}

/** `x.js`, or `x.ts` where only that exists: one manifest serves source and build. The version makes a changed file a new module. */
export function moduleSource(path: string): { file: string; version: string } {
  for (const file of [path, path.replace(/\.(m?)js$/, '.$1ts')]) {
    const stat = statSync(file, { throwIfNoEntry: false })
    if (stat) return { file, version: `${stat.mtimeMs}-${stat.size}` }
  }
  throw new Error('the file does not exist')
}

/** A file that was changed so long ago is taken for whole. */
const freshMs = 1_000
const pauseMs = 200
const mostPauses = 10

/** What `load` makes of a module. Where that fails while somebody writes its file in place, it is loaded again when the file stands still; without a path nobody does. */
export async function onceWhole<T>(path: string | undefined, load: () => Promise<T>): Promise<T> {
  for (let pauses = 0; ; pauses++) {
    const before = versionOf(path)
    const began = Date.now()
    try {
      return await load()
    } catch (error) {
      if (before === undefined || pauses >= mostPauses || began - before.changed > freshMs) throw error
      await sleep(pauseMs)
      if (versionOf(path)?.version === before.version) throw error
    }
  }
}

function versionOf(path: string | undefined): { version: string; changed: number } | undefined {
  if (path === undefined) return undefined
  try {
    const { file, version } = moduleSource(path)
    return { version, changed: statSync(file).mtimeMs }
  } catch {
    return undefined
  }
}

/** What `vtcode` and `vtcode/test` mean, wherever they are imported. */
const own = { 'vtcode/test': programFile('test/kit.js'), vtcode: programFile('core/index.js') }

let registered = false

/** Lets modules anywhere import `vtcode` and get the running program, and closes the copies of agreed files. */
function prepare(file: string, { alone }: Loading): void {
  const names = Object.fromEntries(Object.entries(own).map(([name, file]) => [name, pathToFileURL(file).href]))
  const copy = copyAround(file)
  const closed = alone && copy !== undefined && { alone: { ours: shelfOf(programFile()), shelf: dirname(copy) } }
  const closing: Closing = { names, ...closed }
  if (copy !== undefined) closeCopies(closing)
  if (registered) return
  registered = true
  register(pathToFileURL(programFile('core/trust/module_hooks.js')).href, { data: closing })
}

/** The folder that holds a program and the packages it stands on. */
function shelfOf(folder: string): string {
  const at = folder.indexOf('/node_modules/')
  return at < 0 ? `${dirname(folder.replace(/\/$/, ''))}/` : folder.slice(0, at + '/node_modules/'.length)
}
