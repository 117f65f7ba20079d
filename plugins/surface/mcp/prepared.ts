import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { homeOf, keepNewest, programFile, sealOf, sha256, version, writeStateSync } from '../../../core/system/index.js'
import { readCommandLine, type CommandLine } from '../../../core/cli/index.js'
import { findRoot } from '../../../core/config/index.js'
import { signatureOf } from '../../../core/documents/index.js'

/** A request and its answer, both as text: the answer holds for a request that says the same. */
export interface Exchange {
  params: string
  result: string
}
/** How a conversation with this client begins, as it was had here before. */
export interface Beginning {
  initialize: Exchange
  list: Exchange
}
interface Kept extends Beginning {
  /** What the list was made from, and a digest that changes with any of it. */
  watched: readonly string[]
  signature: string
}

/** Where a beginning lies. */
export interface BeginningPlace {
  home: string
  root: string
  file: string
}

/** The beginnings that are kept, each of one workspace and one way to start. */
const KEPT = 50
const sort = 'mcp beginning'

/** What decides a list of tools beside the files that are watched. A command line that brings more has no place: its list is made anew. */
export function placeOf(argv: readonly string[]): BeginningPlace | undefined {
  try {
    const options = optionsIn(argv)
    if (!options) return undefined
    const home = homeOf({ home: options.home })
    const root = options.workspace ?? findRoot(process.cwd(), home)
    const { mtimeMs, size } = statSync(programFile('manifests/_catalogue.json'))
    const said = Object.entries(process.env)
      .filter(([name]) => name.startsWith('VTCODE_') || name === 'HOME')
      .sort()
    const key = sha256(JSON.stringify([version, mtimeMs, size, programFile(), root, process.cwd(), argv, said]))
    return { home, root, file: join(home, 'cache', 'beginnings', key.slice(0, 32)) }
  } catch {
    return undefined
  }
}

/** What is said where that is no more than folders, a mode and a form of the list, behind the verb: before it no front is asked. Throws CommandLineError. */
function optionsIn(argv: readonly string[]): CommandLine['options'] | undefined {
  const { options, env, log, quiet, verb, rest } = readCommandLine(argv)
  const isPlain =
    Object.keys(options).every((name) => name === 'workspace' || name === 'home' || name === 'mode') &&
    Object.keys(env).every((name) => name === 'HOME')
  return verb === argv[0] &&
    isPlain &&
    log === undefined &&
    !quiet &&
    rest.every((word) => word === '--lean' || word === '--structured')
    ? options
    : undefined
}

/** What was kept, if it is ours and nothing has changed since. */
export function readBeginning({ home, root, file }: BeginningPlace): Beginning | undefined {
  try {
    const kept = sealOf(home, root).read(sort, file, readFileSync(file, 'utf8')) as Kept | undefined
    return kept && sha256(signatureOf(kept.watched)) === kept.signature ? kept : undefined
  } catch {
    return undefined
  }
}

/** Keeps a beginning for the next start. One that cannot be written costs time then, nothing else. */
export function keepBeginning(
  { home, root, file }: BeginningPlace,
  watched: readonly string[],
  { initialize, list }: Beginning,
): void {
  try {
    const kept: Kept = { initialize, list, watched, signature: sha256(signatureOf(watched)) }
    writeStateSync(file, sealOf(home, root).write(sort, file, kept), { durable: false })
    keepNewest(dirname(file), KEPT)
  } catch {
    // The next start asks the kernel.
  }
}

export function forgetBeginning({ file }: BeginningPlace): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // It is compared anew at the next start.
  }
}
