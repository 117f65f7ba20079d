const { readFileSync, statSync } = process.getBuiltinModule('node:fs')
const { createRequire, isBuiltin } = process.getBuiltinModule('node:module')
const { dirname, join } = process.getBuiltinModule('node:path')
const { Script } = process.getBuiltinModule('node:vm')

// The build makes scripts of the program instead of modules: on every version of Node, V8 can reuse their compiled
// code, and they load synchronously. Node loads this file itself (`core/loader.cjs`), so all entry points share one
// program.

export type Loaded = Readonly<Record<string, unknown>>
/** Compiled code of a file from an earlier run, with the stamp of that file. */
export interface CompiledFile {
  stamp: string
  data: Buffer
}
interface Running extends CompiledScript {
  exports: Record<string, unknown>
}
interface CompiledScript {
  stamp: string
  script: InstanceType<typeof Script>
  /** V8 had to compile the file. */
  fresh: boolean
}
type Body = (
  exports: object,
  require: (name: string) => unknown,
  module: { exports: object },
  filename: string,
  dirname: string,
  importModule: (name: string) => Promise<unknown>,
) => void

const running = new Map<string, Running>()
let known: ReadonlyMap<string, CompiledFile> = new Map()
/** Files that ran before the compiled code was known; V8 compiles them anyway. */
let first: ReadonlySet<string> = new Set()

/** Loads a file of the built program, once, and returns its exports. `file` is its whole path, from `programFile`. */
export function load(file: string): Loaded {
  const before = running.get(file)
  if (before) return before.exports
  const module: Running = { exports: {}, ...compileScript(file) }
  running.set(file, module)
  try {
    const body = module.script.runInThisContext() as Body
    body(module.exports, createRequireFunction(file), module, file, dirname(file), importForProgram)
  } catch (error) {
    running.delete(file)
    throw error
  }
  return module.exports
}

/** Sets the compiled code that later loads use. */
export function useCompiledFiles(files: ReadonlyMap<string, CompiledFile>): void {
  known = files
  first = new Set(running.keys())
}

/** Returns the compiled code of the files that ran; nothing if all of it was known already. */
export function collectCompiled(): ReadonlyMap<string, CompiledFile> | undefined {
  const later = [...running].filter(([file]) => !first.has(file))
  if (!later.some(([, { fresh }]) => fresh)) return undefined
  return new Map(later.map(([file, { stamp, script }]) => [file, { stamp, data: script.createCachedData() }]))
}

function compileScript(file: string): CompiledScript {
  const { mtimeMs, ctimeMs, size } = statSync(file)
  // Some installers give each file of each version the same time.
  const stamp = `${mtimeMs} ${ctimeMs} ${size}`
  const before = known.get(file)
  const cachedData = before?.stamp === stamp ? before.data : undefined
  const script = new Script(readFileSync(file, 'utf8'), { filename: file, ...(cachedData && { cachedData }) })
  return { stamp, script, fresh: cachedData === undefined || script.cachedDataRejected === true }
}

/**
 * Imports other modules on behalf of this file, which is in the same package: for a script with reused compiled code,
 * Node 20 does not know the importing module.
 */
const importForProgram = (name: string): Promise<unknown> => import(name)

const itself = { load, useCompiledFiles, collectCompiled }

function createRequireFunction(file: string): (name: string) => unknown {
  let foreign: NodeJS.Require | undefined
  return (name) => {
    if (name === '#load') return itself
    if (name.startsWith('.')) return load(join(dirname(file), name))
    return isBuiltin(name) ? process.getBuiltinModule(name) : (foreign ??= createRequire(file))(name)
  }
}
