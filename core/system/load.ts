const { readFileSync, statSync } = process.getBuiltinModule('node:fs')
const { createRequire, isBuiltin } = process.getBuiltinModule('node:module')
const { dirname, join } = process.getBuiltinModule('node:path')
const { Script } = process.getBuiltinModule('node:vm')

// The build makes of the program scripts instead of modules: V8 can be given what it made of a script before, on every version of Node, and one is
// there without waiting. This file is what Node loads itself (`core/loader.cjs`), so that all who come in share one program.

export type Loaded = Readonly<Record<string, unknown>>
/** What V8 made of a file in an earlier run, and the stamp of the file that it made it of. */
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
  /** V8 had to compile it. */
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
/** The files that ran before it was said what is known: V8 compiles them anyway. */
let first: ReadonlySet<string> = new Set()

/** What a file of the built program exports; it runs once. `file` is its whole path, as `programFile` says it. */
export function load(file: string): Loaded {
  const before = running.get(file)
  if (before) return before.exports
  const module: Running = { exports: {}, ...compiledScript(file) }
  running.set(file, module)
  try {
    const body = module.script.runInThisContext() as Body
    body(module.exports, requireOf(file), module, file, dirname(file), importFor)
  } catch (error) {
    running.delete(file)
    throw error
  }
  return module.exports
}

/** From here on, files that are loaded need not be compiled where it is known what V8 made of them. */
export function takeCompiled(files: ReadonlyMap<string, CompiledFile>): void {
  known = files
  first = new Set(running.keys())
}

/** What V8 has made of the files that run; nothing where it is all known already. */
export function freshlyCompiled(): ReadonlyMap<string, CompiledFile> | undefined {
  const later = [...running].filter(([file]) => !first.has(file))
  if (!later.some(([, { fresh }]) => fresh)) return undefined
  return new Map(later.map(([file, { stamp, script }]) => [file, { stamp, data: script.createCachedData() }]))
}

function compiledScript(file: string): CompiledScript {
  const { mtimeMs, ctimeMs, size } = statSync(file)
  // Some who install programs give each file of each version one time.
  const stamp = `${mtimeMs} ${ctimeMs} ${size}`
  const before = known.get(file)
  const cachedData = before?.stamp === stamp ? before.data : undefined
  const script = new Script(readFileSync(file, 'utf8'), { filename: file, ...(cachedData && { cachedData }) })
  return { stamp, script, fresh: cachedData === undefined || script.cachedDataRejected === true }
}

/** What is no part of the program is imported on behalf of this file, which is of the same package: of a script that V8 need not compile, Node 20 does not know who would do that. */
const importFor = (name: string): Promise<unknown> => import(name)

const itself = { load, takeCompiled, freshlyCompiled }

function requireOf(file: string): (name: string) => unknown {
  let foreign: NodeJS.Require | undefined
  return (name) => {
    if (name === '#load') return itself
    if (name.startsWith('.')) return load(join(dirname(file), name))
    return isBuiltin(name) ? process.getBuiltinModule(name) : (foreign ??= createRequire(file))(name)
  }
}
