import { Writable } from 'node:stream'
import type { Io, Kernel } from '../../../core/contract/index.js'

/** Returns the output of `vtcode <verb> --help`; empty for a verb of a plugin, which may do anything with `--help`. */
export async function readHelpText(kernel: Kernel, verb: string, io: Io): Promise<string> {
  const ours = kernel.inspection
    .contributions()
    .some((one) => one.kind === 'surface' && one.verb === verb && one.layer === 'builtin')
  if (!ours) return ''
  let text = ''
  const stream = (take: (chunk: unknown) => void) =>
    Object.assign(new Writable({ write: (chunk, _, done) => (take(chunk), done()) }), { isTTY: false })
  const surface = await kernel.inspection.loadSurface(verb)
  await surface?.(kernel, ['--help'], {
    ...io,
    stdout: stream((chunk) => (text += String(chunk))),
    stderr: stream(() => {}),
  })
  return text
}
