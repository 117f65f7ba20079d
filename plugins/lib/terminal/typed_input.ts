import { PassThrough } from 'node:stream'
import { StringDecoder } from 'node:string_decoder'
import type { Io } from '../../../core/contract/index.js'

const PASTE_BEGIN = '\u001b[200~'
const PASTE_END = '\u001b[201~'
const INTERRUPT = '\u0003'

/**
 * Opens the keys of a terminal without pasted text, so that a paste answers no question. The terminal is asked to mark
 * pastes; `onPaste` is called at the end of each. Input that is no terminal stays unchanged.
 */
export function openTypedInput(
  { stdin, screen }: Pick<Io, 'stdin' | 'screen'>,
  onPaste: () => void,
): { input: NodeJS.ReadableStream; close: () => void } {
  const source = stdin as NodeJS.ReadStream
  if (!source.isTTY) return { input: stdin, close: () => {} }
  const decoder = new StringDecoder('utf8')
  const keys = new PassThrough()
  let rest = ''
  let isPaste = false
  const read = (chunk: Buffer | string): void => {
    rest += typeof chunk === 'string' ? chunk : decoder.write(chunk)
    // A paste without an end does not take Ctrl-C away.
    if (isPaste && rest.endsWith(INTERRUPT)) [isPaste, rest] = [false, INTERRUPT]
    for (;;) {
      const mark = isPaste ? PASTE_END : PASTE_BEGIN
      const at = rest.indexOf(mark)
      const end = at < 0 ? rest.length - countBegin(rest, mark) : at
      if (!isPaste && end > 0) keys.write(rest.slice(0, end))
      rest = rest.slice(at < 0 ? end : end + mark.length)
      if (at < 0) return
      isPaste = !isPaste
      if (!isPaste) onPaste()
    }
  }
  const finish = (): void => void keys.end()
  source.on('data', read).once('end', finish).resume()
  screen?.write('\u001b[?2004h')
  const input = Object.assign(keys, { isTTY: true, setRawMode: (on: boolean) => source.setRawMode?.(on) })
  const close = (): void => {
    source.off('data', read).off('end', finish).pause()
    screen?.write('\u001b[?2004l')
  }
  return { input, close }
}

/** Returns how many characters at the end of a text may begin a mark, whose rest follows. */
function countBegin(text: string, mark: string): number {
  let count = mark.length - 1
  while (count > 0 && !text.endsWith(mark.slice(0, count))) count -= 1
  return count
}
