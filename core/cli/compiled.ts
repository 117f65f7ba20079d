import { closeSync, constants, existsSync, fstatSync, lstatSync, openSync, readFileSync, type Stats } from 'node:fs'
import { dirname, join } from 'node:path'
import {
  freshlyCompiled,
  homeOf,
  keepNewest,
  makeFolder,
  programFile,
  sha256,
  takeCompiled,
  writeStateSync,
  type CompiledFile,
} from '../system/index.js'

/** The files that are kept, each of one verb or of the call of one action, one version of Node and one place of the program. */
const KEPT = 60

/** By file its stamp and the number of its bytes; what V8 made of them follows, in this order. */
type Heading = [file: string, stamp: string, bytes: number][]

let place: string | undefined

/**
 * Takes what V8 made of the program when it was started for the same work before. It lies in the user's home: what is read from it runs. Where
 * another place is meant, or the folder is anybody else's too, nothing is taken and nothing kept.
 */
export function useCompiled(argv: readonly string[]): void {
  if (argv.some((word) => /^--home(?:=|$)/.test(word))) return
  try {
    const home = homeOf({})
    const folder = join(home, 'cache', 'compiled')
    // Nothing is made in a home that is not the user's: those who look at it later are to find it as it was.
    if (!isOwn(lstatSync(existsSync(home) ? home : dirname(home)))) return
    makeFolder(folder, 0o700)
    if (!isOwn(lstatSync(folder), 0o077)) return
    place = join(
      folder,
      `${workOf(argv)}-${sha256(`${process.version} ${process.arch} ${programFile()}`).slice(0, 16)}`,
    )
    takeCompiled(new Map())
    takeCompiled(unpacked(readOwn(place)))
  } catch {
    // Without a file all is compiled, and kept if there is a place for it.
  }
}

/** The verb, and of a call the action where it is one of ours: each loads files of its own, and what others left would be made anew in turn. */
function workOf(argv: readonly string[]): string {
  const isOurs = (folder: string, word = '') =>
    /^[a-z_]{1,40}$/.test(word) && existsSync(programFile(`plugins/${folder}/${word}.cjs`))
  const verb = argv.find((word) => isOurs('surface', word)) ?? 'none'
  const at =
    verb === 'call' ? argv.findIndex((tool, index) => /^[a-z_]{1,40}$/.test(tool) && isOurs(tool, argv[index + 1])) : -1
  return at === -1 ? verb : `${verb}-${argv[at]!}-${argv[at + 1]!}`
}

/** Whether it is the user's, and shut to all others by these bits of its mode. */
function isOwn({ uid, mode }: Stats, shut = 0): boolean {
  return process.getuid === undefined || (uid === process.getuid() && (mode & shut) === 0)
}

const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants

/** Judged when it is open: a folder may have become another one since it was looked at. */
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

/** Keeps what V8 has compiled in this run for the next start. What cannot be written costs time then, nothing else. */
export function keepCompiled(): void {
  try {
    const files = place === undefined ? undefined : freshlyCompiled()
    if (!files) return
    writeStateSync(place!, packed(files), { durable: false })
    keepNewest(dirname(place!), KEPT)
  } catch {
    // The next start compiles.
  }
}

/** A digest of all that follows, the heading, the data. */
function packed(files: ReadonlyMap<string, CompiledFile>): Buffer {
  const heading: Heading = [...files].map(([file, { stamp, data }]) => [file, stamp, data.length])
  const rest = Buffer.concat([
    Buffer.from(`${JSON.stringify(heading)}\n`),
    ...[...files.values()].map(({ data }) => data),
  ])
  return Buffer.concat([Buffer.from(`${sha256(rest)}\n`), rest])
}

/** Throws for what is not whole: V8 believes what it is given. */
function unpacked(bytes: Buffer): ReadonlyMap<string, CompiledFile> {
  const [sum, rest] = cut(bytes)
  if (sha256(rest) !== sum) throw new Error('it is not whole')
  const [heading, data] = cut(rest)
  let at = 0
  return new Map(
    (JSON.parse(heading) as Heading).map(([file, stamp, length]) => [
      file,
      { stamp, data: data.subarray(at, (at += length)) },
    ]),
  )
}

function cut(bytes: Buffer): [line: string, rest: Buffer] {
  const end = bytes.indexOf('\n')
  return [bytes.toString('utf8', 0, end), bytes.subarray(end + 1)]
}
