import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  collectCompiled,
  resolveHome,
  keepNewest,
  makeFolder,
  programFile,
  sha256,
  useCompiledFiles,
  writeStateSync,
  type CompiledFile,
} from '../system/index.js'

/**
 * Number of cache files, each for one verb or one action of `call`, one version of Node and one location of the
 * program.
 */
const MAX_FILES = 60

/** For each file its stamp and number of bytes; the compiled code follows in this order. */
type Heading = [file: string, stamp: string, bytes: number][]

let cacheFile: string | undefined

/**
 * Loads the compiled code of an earlier run of the same work. It is in the user's home, because it is executed. If
 * another home is given, or other users can write the folder, nothing is loaded or saved.
 */
export function useCompiled(argv: readonly string[]): void {
  if (argv.some((word) => /^--home(?:=|$)/.test(word))) return
  try {
    const home = resolveHome({})
    const folder = join(home, 'cache', 'compiled')
    // Creates nothing in a home that another user owns.
    if (!isOwn(lstatSync(existsSync(home) ? home : dirname(home)))) return
    makeFolder(folder, 0o700)
    if (!isOwn(lstatSync(folder), 0o077)) return
    cacheFile = join(
      folder,
      `${describeWork(argv)}-${sha256(`${process.version} ${process.arch} ${programFile()}`).slice(0, 16)}`,
    )
    useCompiledFiles(new Map())
    useCompiledFiles(unpack(readOwn(cacheFile)))
  } catch {
    // Without the file, everything is compiled, and saved if possible.
  }
}

/**
 * Returns the verb, and for `call` the name of a built-in action: each loads its own files, and one cache for all would
 * be rewritten by each.
 */
function describeWork(argv: readonly string[]): string {
  const isOurs = (folder: string, word = '') =>
    /^[a-z_]{1,40}$/.test(word) && existsSync(programFile(`plugins/${folder}/${word}.cjs`))
  const verb = argv.find((word) => isOurs('surface', word)) ?? 'none'
  const at =
    verb === 'call' ? argv.findIndex((tool, index) => /^[a-z_]{1,40}$/.test(tool) && isOurs(tool, argv[index + 1])) : -1
  return at === -1 ? verb : `${verb}-${argv[at]!}-${argv[at + 1]!}`
}

/** Returns whether the user owns the file or folder, and its mode has none of these bits. */
function isOwn({ uid, mode }: Stats, shut = 0): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & shut) === 0)
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** Reads a file and checks it while it is open, because its folder may have been replaced. */
function readOwn(file: string): Buffer {
  const fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  try {
    const stats = fstatSync(fd)
    if (!stats.isFile() || !isOwn(stats, 0o077)) throw new Error('it is not ours')
    return readFileSync(fd)
  } finally {
    closeSync(fd)
  }
}

/** Saves the code that V8 has compiled in this run. A failure only costs time at the next start. */
export function saveCompiled(): void {
  try {
    const files = cacheFile === undefined ? undefined : collectCompiled()
    if (!files) return
    writeStateSync(cacheFile!, pack(files), { durable: false })
    keepNewest(dirname(cacheFile!), MAX_FILES)
  } catch {
    // The next start compiles.
  }
}

/** Formats compiled code: a digest of the rest, the heading, the data. */
function pack(files: ReadonlyMap<string, CompiledFile>): Buffer {
  const heading: Heading = [...files].map(([file, { stamp, data }]) => [file, stamp, data.length])
  const rest = Buffer.concat([
    Buffer.from(`${JSON.stringify(heading)}\n`),
    ...[...files.values()].map(({ data }) => data),
  ])
  return Buffer.concat([Buffer.from(`${sha256(rest)}\n`), rest])
}

/** Parses compiled code. Throws for an incomplete file, because V8 does not check its input. */
function unpack(bytes: Buffer): ReadonlyMap<string, CompiledFile> {
  const [sum, rest] = splitFirstLine(bytes)
  if (sha256(rest) !== sum) throw new Error('it is not whole')
  const [heading, data] = splitFirstLine(rest)
  let at = 0
  return new Map(
    (JSON.parse(heading) as Heading).map(([file, stamp, length]) => [
      file,
      { stamp, data: data.subarray(at, (at += length)) },
    ]),
  )
}

function splitFirstLine(bytes: Buffer): [line: string, rest: Buffer] {
  const end = bytes.indexOf('\n')
  return [bytes.toString('utf8', 0, end), bytes.subarray(end + 1)]
}
