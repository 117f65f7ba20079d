import { readFileSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  resolveHome,
  keepNewest,
  programFile,
  openSeal,
  sha256,
  version,
  writeStateSync,
} from '../../../core/system/index.js'
import { readCommandLine, type CommandLine } from '../../../core/cli/index.js'
import { findRoot } from '../../../core/config/index.js'
import { computeSignature } from '../../../core/documents/index.js'

/** A request and its answer, both as JSON text. The answer is valid for a request with equal parameters. */
export interface RecordedExchange {
  params: string
  result: string
}
/** The first requests and answers of an earlier conversation with the client. */
export interface Handshake {
  initialize: RecordedExchange
  list: RecordedExchange
}
interface SavedHandshake extends Handshake {
  /** The files that the list depends on, with a digest that changes when one of them changes. */
  watched: readonly string[]
  signature: string
}

/** The file of a saved handshake, with its home and workspace. */
export interface HandshakeLocation {
  home: string
  root: string
  file: string
}

/** The most saved handshakes; each belongs to one workspace and one command line. */
const MAX_SAVED = 50
const SEAL_KIND = 'mcp beginning'

/**
 * Returns the location of a handshake, from everything except watched files that decides the list of tools.
 * Returns `undefined` for a command line with other options: its list is never cached.
 */
export function locateHandshake(argv: readonly string[]): HandshakeLocation | undefined {
  try {
    const options = readPlainOptions(argv)
    if (!options) return undefined
    const home = resolveHome({ home: options.home })
    const root = options.workspace ?? findRoot(process.cwd(), home)
    const { mtimeMs, size } = statSync(programFile('manifests/_catalogue.json'))
    const variables = Object.entries(process.env)
      .filter(([name]) => name.startsWith('VTCODE_') || name === 'HOME')
      .sort()
    const key = sha256(JSON.stringify([version, mtimeMs, size, programFile(), root, process.cwd(), argv, variables]))
    return { home, root, file: join(home, 'cache', 'beginnings', key.slice(0, 32)) }
  } catch {
    return undefined
  }
}

/**
 * Returns the options of a command line that starts with the verb and has only folders, a mode and flags of the list;
 * `undefined` for any other. Throws CommandLineError.
 */
function readPlainOptions(argv: readonly string[]): CommandLine['options'] | undefined {
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

/** Returns the saved handshake if its seal is valid and no watched file has changed. */
export function readHandshake({ home, root, file }: HandshakeLocation): Handshake | undefined {
  try {
    const saved = openSeal(home, root).read(SEAL_KIND, file, readFileSync(file, 'utf8')) as SavedHandshake | undefined
    return saved && sha256(computeSignature(saved.watched)) === saved.signature ? saved : undefined
  } catch {
    return undefined
  }
}

/** Saves a handshake for the next start. A failure only makes that start slower. */
export function saveHandshake(
  { home, root, file }: HandshakeLocation,
  watched: readonly string[],
  { initialize, list }: Handshake,
): void {
  try {
    const saved: SavedHandshake = { initialize, list, watched, signature: sha256(computeSignature(watched)) }
    writeStateSync(file, openSeal(home, root).write(SEAL_KIND, file, saved), { durable: false })
    keepNewest(dirname(file), MAX_SAVED)
  } catch {
    // The next start asks the kernel.
  }
}

export function deleteHandshake({ file }: HandshakeLocation): void {
  try {
    rmSync(file, { force: true })
  } catch {
    // The next start compares the handshake again.
  }
}
