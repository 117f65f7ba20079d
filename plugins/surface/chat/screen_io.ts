import { Writable } from 'node:stream'
import type { Io } from '../../../core/contract/index.js'
import type { UiHandle } from '../../tui/index.js'

/** Creates streams that write to the transcript. `alone` suspends the screen and gives the terminal to a caller. */
export function createScreenIo(terminal: Io, handle: UiHandle): Io {
  const stream = (): Io['stdout'] => {
    let held = ''
    const write = (chunk: string | Buffer, _encoding: unknown, done: () => void): void => {
      held += String(chunk)
      const end = held.lastIndexOf('\n') + 1
      if (end > 0) handle.send({ type: 'commit', block: { kind: 'output', text: held.slice(0, end) } })
      held = held.slice(end)
      done()
    }
    return Object.assign(new Writable({ decodeStrings: false, write }), { isTTY: true })
  }
  // Only the session moves the cursor; pass on nothing but the bell.
  const screen = new Writable({
    decodeStrings: false,
    write: (chunk, _encoding, done) => (
      String(chunk).includes('\u0007') && handle.send({ type: 'notify', text: 'vtcode' }),
      done()
    ),
  })
  const alone = async <T>(ask: (io: Io) => Promise<T>): Promise<T> => {
    handle.send({ type: 'suspend' })
    try {
      return await ask(terminal)
    } finally {
      handle.send({ type: 'resume' })
    }
  }
  return { ...terminal, stdout: stream(), stderr: stream(), screen, withTerminal: alone }
}
