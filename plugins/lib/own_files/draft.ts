import { isUtf8 } from 'node:buffer'
import { chmodSync, lstatSync, realpathSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { inside, makeFolder, writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Io } from '../../../core/contract/index.js'
import { toOneLine, createPaint, printable } from '../terminal/index.js'

/** A file of the user as it is and as it shall be; `undefined`: there is no file. */
export interface FileDraft {
  file: string
  before: string | undefined
  after: string | undefined
}

const mostBytes = 16 * 1_048_576

/** The text of a file; `undefined` where there is none. Throws for what is no text, no file, or a link that leads nowhere. */
export function ownText(file: string): string | undefined {
  let bytes: Buffer
  try {
    bytes = readBytes(file, { limit: mostBytes })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
    if (lstatSync(file, { throwIfNoEntry: false })) throw new Error('it is a link to a file that does not exist')
    return undefined
  }
  if (!isUtf8(bytes)) throw new Error('its bytes are no text in UTF-8')
  return bytes.toString()
}

/** What lies in the workspace stays there: a repository may have brought a link to a file of somebody else. In their home the user's own links count. */
export function requireWithin(workspace: string, file: string): void {
  let there = file
  while (!lstatSync(there, { throwIfNoEntry: false })) there = dirname(there)
  if (inside(workspace, file) && !inside(realpathSync(workspace), realpathSync(there)))
    throw new Error('it leads out of the workspace')
}

/** In one step, so that nobody finds half a file. A link of the user's stays a link, and a file keeps who may read it. Throws where the file is no longer what was shown. */
export function writeDraft({ file, before, after }: FileDraft): void {
  if (ownText(file) !== before) throw new Error('it was changed while you were asked')
  if (after === undefined) return rmSync(file)
  makeFolder(dirname(file))
  if (!lstatSync(file, { throwIfNoEntry: false })) return writeStateSync(file, after, { mode: 0o644 })
  const there = realpathSync(file)
  const { mode } = statSync(there)
  writeStateSync(there, after, { mode })
  chmodSync(there, mode)
}

/** What goes and what comes, between the lines that stay the same at both ends. */
export function difference({ file, before = '', after = '' }: FileDraft, io: Io): string {
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
