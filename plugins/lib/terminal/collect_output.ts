import { PassThrough, Writable } from 'node:stream'
import type { Io } from '../../../core/contract/index.js'

/** Returns streams that collect all output, for code that prints for a terminal. Such code cannot ask questions. */
export function collectOutput({ withTerminal: _, onInterrupt: __, screen: ___, ...io }: Io): {
  io: Io
  text: () => string
} {
  let text = ''
  const stream = Object.assign(
    new Writable({ decodeStrings: false, write: (chunk, _encoding, done) => ((text += String(chunk)), done()) }),
    { isTTY: true },
  )
  return {
    io: { ...io, stdin: new PassThrough(), stdout: stream, stderr: stream, env: { ...io.env, NO_COLOR: '1' } },
    text: () => text,
  }
}
