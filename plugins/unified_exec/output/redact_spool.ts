import { sameSize } from '../../../core/base/index.js'
import { redactText, type Context } from '../../../core/index.js'
import { lines, runProgram } from '../../lib/process/index.js'
import { ripgrepPath } from '../../lib/search/index.js'
import type { Spool } from '../../lib/state/index.js'
import { candidates, longestSecret } from './redact_stream.js'

/** Bytes without their secrets, each of which becomes as many other bytes. */
export const withoutSecrets = (bytes: Buffer): Buffer => Buffer.from(redactText(bytes.toString('latin1'), sameSize), 'latin1')

const pending = new Map<string, Promise<void>>()

/** Settles when a spool file that is being cleaned is clean. */
export const blotted = (path: string): Promise<void> => pending.get(path) ?? Promise.resolve()

/**
 * Overwrites the secrets in a spool file, each by as many bytes, so that positions stay. ripgrep finds the candidates: a pass in
 * JavaScript over everything a program prints would take ten times as long as the program's pipe. Never rejects: a file that
 * went away needs no cleaning.
 */
export function redactSpool(file: Spool, context: Context): Promise<void> {
  const done = overwrite(file, context)
    .catch(() => undefined)
    .finally(() => pending.delete(file.path))
  pending.set(file.path, done)
  return done
}

async function overwrite(file: Spool, { workspace }: Context): Promise<void> {
  const engine = await ripgrepPath()
  if (!engine) return
  const border = file.path.lastIndexOf('/')
  await using folder = await workspace.openDirectory(file.path.slice(0, border))
  const found: { at: number; text: string }[] = []
  // `position:text`, and for a match of several lines as many of these with the same position.
  const reader = lines((line) => {
    const border = line.indexOf(':')
    const at = Number(line.toString('latin1', 0, border))
    const text = line.toString('latin1', border + 1)
    const last = found.at(-1)
    if (last?.at !== at) found.push({ at, text })
    else if (last.text.length < longestSecret) last.text += `\n${text}`
  })
  const patterns = candidates().flatMap((pattern) => ['-e', pattern])
  const shape = ['--no-config', '--only-matching', '--byte-offset', '--no-line-number', '--no-filename']
  const args = [...shape, '--text', '--multiline', '--no-unicode', ...patterns, '--', `./${file.path.slice(border + 1)}`]
  await runProgram({ file: engine, args, cwd: folder.ref }, { signal: new AbortController().signal, seconds: 30 }, reader.take)
  reader.end()
  for (const { at, text } of found) {
    const clean = redactText(text, sameSize)
    if (clean !== text) await file.replace(at, Buffer.from(clean.slice(0, longestSecret), 'latin1'))
  }
}
