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

// Loaded when something is hashed: most starts hash nothing.
export const sha256 = (data: string | Uint8Array, form: 'hex' | 'base64' | 'base64url' = 'hex'): string =>
  process.getBuiltinModule('node:crypto').hash('sha256', data, form)

/** The order of the bytes, which no locale changes. */
export const byBytes = (a: string, b: string): number => Buffer.compare(Buffer.from(a), Buffer.from(b))

/** Where the settings, plugins, keys and the trust store of the user live. */
export function homeOf({
  home,
  env = process.env,
}: {
  home?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}): string {
  return env['VTCODE_HOME'] ?? join(userOf({ home, env }), '.vtcode')
}

/** What `~` stands for. */
export const userOf = ({
  home,
  env = process.env,
}: {
  home?: string | undefined
  env?: Readonly<Record<string, string | undefined>> | undefined
}): string => home ?? env['HOME'] ?? homedir()

/** Where a path leads, through links; of what is not there, the names behind what is. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path)
  } catch {
    const parent = dirname(path)
    return parent === path ? path : join(realPathOf(parent), path.slice(parent.length))
  }
}

/**
 * Tells what this user's program wrote in a workspace from what anybody else did: a repository brings files of its own, and a command
 * writes others. Marks are made with a key in the user's home, for one workspace.
 */
export interface Seal {
  /** 32 hexadecimal digits for a text of a sort, at its place. */
  mark(sort: string, place: string, text: string): string
  /** 12 of them: names carry these. */
  nameMark(sort: string, name: string): string
  /** The same for what is this user's wherever the workspace lies: it may be moved. */
  userMark(sort: string, place: string, text: string): string
  /** A JSON object, not empty, with its mark as the last member: one line, of which no character moves a cursor. */
  write(sort: string, place: string, value: object): string
  /** The object without its mark; `undefined` for what bears none of ours. Throws nothing. */
  read(sort: string, place: string, text: string): object | undefined
}

export function sealOf(home: string, workspace: string): Seal {
  const markIn = (scope: string, sort: string, place: string, text: string): string => {
    const { createHmac } = process.getBuiltinModule('node:crypto')
    return createHmac('sha256', keyOf(home))
      .update(JSON.stringify([scope, sort, place]))
      .update(text)
      .digest('hex')
      .slice(0, 32)
  }
  const mark: Seal['mark'] = (sort, place, text) => markIn(workspace, sort, place, text)
  return {
    mark,
    userMark: (sort, place, text) => markIn('', sort, place, text),
    nameMark: (sort, name) => mark(sort, 'name', name).slice(0, 12),
    write(sort, place, value) {
      const text = JSON.stringify(value).replace(
        /[\u007f-\u009f\u2028\u2029]/g,
        (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`,
      )
      return `${text.slice(0, -1)},"seal":"${mark(sort, place, text)}"}`
    },
    read(sort, place, text) {
      const [, body, said] = /^(.*),"seal":"([0-9a-f]{32})"\}\n?$/s.exec(text) ?? []
      return body === undefined || said !== mark(sort, place, `${body}}`)
        ? undefined
        : (JSON.parse(`${body}}`) as object)
    },
  }
}

const keys = new Map<string, Buffer>()
const length = 32

/** The key of a user, made on first use. Without a place to keep it, it is good for this process. */
function keyOf(home: string): Buffer {
  let key = keys.get(home)
  if (!key) keys.set(home, (key = keptKey(home)))
  return key
}

function keptKey(home: string): Buffer {
  const { randomBytes } = process.getBuiltinModule('node:crypto')
  const file = join(home, 'approvals.key')
  const made = randomBytes(length)
  try {
    const key = foundKey(file) ?? madeKey(file, made)
    sweepDrafts(home)
    return key
  } catch {
    return made
  }
}

/** A key that is being made is there for milliseconds; what is this old a killed process left. */
const DRAFT_MS = 3_600_000

/** Removes what processes left that were killed while they made the key. */
function sweepDrafts(home: string): void {
  try {
    for (const name of readdirSync(home)) {
      if (!/^approvals\.key\.\d+\.[0-9a-f]{8}(?:\.\d+)?$/.test(name)) continue
      const stats = lstatSync(join(home, name), { throwIfNoEntry: false })
      if (stats && !stats.isDirectory() && Date.now() - stats.mtimeMs > DRAFT_MS)
        rmSync(join(home, name), { force: true })
    }
  } catch {
    // A home that cannot be listed keeps them; nothing reads them.
  }
}

/** The first to give it its name wins; everybody then uses what is there. What a killed process left empty is replaced. */
function madeKey(file: string, made: Buffer): Buffer {
  const draft = `${file}.${process.pid}.${made.toString('hex', 0, 4)}`
  writeStateSync(draft, made)
  try {
    linkSync(draft, file)
  } catch {
    if (foundKey(file) === undefined) renameSync(draft, file)
  }
  rmSync(draft, { force: true })
  return foundKey(file) ?? made
}

function foundKey(file: string): Buffer | undefined {
  const { O_RDONLY, O_NOFOLLOW = 0, O_NONBLOCK = 0 } = constants
  let fd: number | undefined
  try {
    fd = openSync(file, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
    const stats = fstatSync(fd)
    return stats.isFile() && stats.size === length ? readFileSync(fd) : undefined
  } catch {
    return undefined
  } finally {
    if (fd !== undefined) closeSync(fd)
  }
}
