import { isUtf8 } from 'node:buffer'
import { chmodSync, lstatSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isInside, makeFolder, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Io } from '../../../core/contract/index.js'
import { toOneLine, createPaint, printable } from '../terminal/index.js'

/** A file of the user before and after a change; `undefined` if missing. */
export interface FileDraft {
  file: string
  before: string | undefined
  after: string | undefined
}

const MAX_BYTES = 16 * 1_048_576

/**
 * Reads the text of a file; `undefined` if missing. Throws for invalid text, for other entries, and for a dangling
 * link.
 */
export function readOwnFile(file: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readBytes(file, { limit: MAX_BYTES })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (lstatSync(file, { throwIfNoEntry: false })) throw new Error('it is a link to a file that does not exist')
    return undefined
  }
  if (!isUtf8(bytes)) throw new Error('it is not UTF-8 text')
  return bytes.toString()
}

/**
 * Refuses a file of the workspace that a link leads out: a repository may have provided the link. Links in the home of
 * the user are allowed.
 */
export function requireInside(workspace: string, file: string): void {
  let there = file
  while (!lstatSync(there, { throwIfNoEntry: false })) there = dirname(there)
  if (isInside(workspace, file) && !isInside(realpathSync(workspace), realpathSync(there)))
    throw new Error('it leads out of the workspace')
}

/**
 * Writes a draft atomically. Links stay links, and files keep their mode. Throws if the file changed since it was
 * shown.
 */
export function writeDraft({ file, before, after }: FileDraft): void {
  if (readOwnFile(file) !== before) throw new Error('it changed during the question; run the command again')
  if (after === undefined) return rmSync(file)
  makeFolder(dirname(file))
  if (!lstatSync(file, { throwIfNoEntry: false })) return writeStateSync(file, after, { mode: 0o644 })
  const there = realpathSync(file)
  const { mode } = statSync(there)
  writeStateSync(there, after, { mode })
  chmodSync(there, mode)
}

/** Formats removed and added lines between the common lines at both ends. */
export function formatDifference({ file, before = '', after = '' }: FileDraft, io: Io): string {
  const { bold, red, green, dim } = createPaint(io.stdout, io.env)
  const [old, now] = [before, after].map((text) => printable(text).split('\n').slice(0, -1)) as [string[], string[]]
  let head = 0
  while (head < Math.min(old.length, now.length) && old[head] === now[head]) head++
  let tail = 0
  while (tail < Math.min(old.length, now.length) - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++
  const around = (lines: string[]) => lines.map((line) => dim(`  ${line}\n`))
  return [
    `${bold(toOneLine(file))}\n`,
    ...around(old.slice(Math.max(0, head - 2), head)),
    ...old.slice(head, old.length - tail).map((line) => red(`- ${line}\n`)),
    ...now.slice(head, now.length - tail).map((line) => green(`+ ${line}\n`)),
    ...around(now.slice(now.length - tail, now.length - tail + 2)),
  ].join('')
}
