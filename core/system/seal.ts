import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
} from 'node:fs'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { writeStateSync } from './state_file.js'

// Loads the module on first use: most starts hash nothing.
export const sha256 = (data: string | Uint8Array, form: 'hex' | 'base64' | 'base64url' = 'hex'): string =>
  process.getBuiltinModule('node:crypto').hash('sha256', data, form)

/** Compares texts by their bytes, which no locale changes. */
export const compareBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Returns the `.vtcode` folder of the user: settings, plugins, keys and the trust store. */
export function resolveHome({
  home,
  env = process.env,
}: {
  home?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}): string {
  return env['VTCODE_HOME'] ?? join(resolveUserFolder({ home, env }), '.vtcode')
}

/** Returns the folder that `~` means. */
export const resolveUserFolder = ({
  home,
  env = process.env,
}: {
  home?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}): string => home ?? env['HOME'] ?? homedir()

/** Returns whether a process runs, or a process of a group for a negative number. */
export function isProcessRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Returns the real path after all links; names that do not exist are appended to the existing part. */
export function toRealPath(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(toRealPath(parent), path.slice(parent.length))
  }
}

/**
 * Seals files of this user's program in a workspace, so that files of a repository or a command are not mistaken for
 * them. Marks are made with a key in the user's home, for one workspace.
 */
export interface Seal {
  /** Returns 32 hexadecimal digits for a text of a sort, at its place. */
  mark(sort: string, place: string, text: string): string
  /** Returns 12 of the digits, for use in file names. */
  nameMark(sort: string, name: string): string
  /** Returns a mark without the workspace, for files that stay valid when the workspace moves. */
  userMark(sort: string, place: string, text: string): string
  /**
   * Formats a JSON object, not empty, with its mark as the last member: one line without characters that move a cursor.
   */
  write(sort: string, place: string, value: object): string
  /**
   * Parses such a line and returns the object without its mark; `undefined` if the mark is missing or wrong. Contract:
   * never throws.
   */
  read(sort: string, place: string, text: string): object | undefined
}

export function openSeal(home: string, workspace: string): Seal {
  const computeMark = (scope: string, sort: string, place: string, text: string): string => {
    const { createHmac } = process.getBuiltinModule('node:crypto')
    return createHmac('sha256', loadKey(home))
      .update(JSON.stringify([scope, sort, place]))
      .update(text)
      .digest('hex')
      .slice(0, 32)
  }
  const mark: Seal['mark'] = (sort, place, text) => computeMark(workspace, sort, place, text)
  return {
    mark,
    userMark: (sort, place, text) => computeMark('', sort, place, text),
    nameMark: (sort, name) => mark(sort, 'name', name).slice(0, 12),
    write(sort, place, value) {
      const text = JSON.stringify(value).replace(
        /[\u007f-\u009f\u2028\u2029]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      return `${text.slice(0, -1)},"seal":"${mark(sort, place, text)}"}`
    },
    read(sort, place, text) {
      const [, body, mac] = /^(.*),"seal":"([0-9a-f]{32})"\}\n?$/s.exec(text) ?? []
      return body === undefined || mac !== mark(sort, place, `${body}}`)
        ? undefined
        : (JSON.parse(`${body}}`) as object)
    },
  }
}

const keys = new Map<string, Buffer>()
const KEY_BYTES = 32

/** Returns the key of a user, created on first use. If it cannot be stored, it is valid for this process only. */
function loadKey(home: string): Buffer {
  let key = keys.get(home)
  if (!key) keys.set(home, (key = readOrCreateKey(home)))
  return key
}

function readOrCreateKey(home: string): Buffer {
  const { randomBytes } = process.getBuiltinModule('node:crypto')
  const file = join(home, 'approvals.key')
  const made = randomBytes(KEY_BYTES)
  try {
    const key = readKey(file) ?? createKey(file, made)
    sweepDrafts(home)
    return key
  } catch {
    return made
  }
}

/** A draft of a key exists for milliseconds; an older one was left by a process that is not visible here. */
const DRAFT_MS = 3_600_000

/** Removes drafts of processes that were killed while they created the key. */
function sweepDrafts(home: string): void {
  try {
    for (const name of readdirSync(home)) {
      const [, pid] = /^approvals\.key\.(\d+)\.[0-9a-f]{8}(?:\.\d+)?$/.exec(name) ?? []
      if (pid === undefined) continue
      const stats = lstatSync(join(home, name), { throwIfNoEntry: false })
      const isLeft = !isProcessRunning(Number(pid)) || (stats && Date.now() - stats.mtimeMs > DRAFT_MS)
      if (isLeft && stats && !stats.isDirectory()) rmSync(join(home, name), { force: true })
    }
  } catch {
    // A folder that cannot be listed keeps its drafts; nothing reads them.
  }
}

/**
 * Creates the key file: the first link wins, and all processes then use that key. An empty file of a killed process is
 * replaced.
 */
function createKey(file: string, made: Buffer): Buffer {
  const draft = `${file}.${process.pid}.${made.toString('hex', 0, 4)}`
  writeStateSync(draft, made)
  try {
    linkSync(draft, file)
  } catch {
    if (readKey(file) === undefined) renameSync(draft, file)
  }
  rmSync(draft, { force: true })
  return readKey(file) ?? made
}

function readKey(file: string): Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  let fd: number | undefined
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const stats = fstatSync(fd)
    return stats.isFile() && stats.size === KEY_BYTES ? readFileSync(fd) : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
