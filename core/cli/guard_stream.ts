import { visibleJson } from '../text/index.js'

type Output = NodeJS.WriteStream

/** The only escape sequences that pass: colours, bold and dim. */
const COLOUR_PATTERN = /(\u001b\[(?:1|2|22|3[1-6]|39)m)/

/**
 * Replaces `stream.write`: control, bidirectional and invisible characters are escaped as in JSON, so that a JSON
 * document keeps its meaning. Returns the stream with the original `write`, for cursor movement.
 */
export function guardStream(stream: Output): Output {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  const allowsColor = stream.isTTY === true
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) =>
    write(
      escapeOutput(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(), allowsColor),
      ...rest,
    )) as Output['write']
  return new Proxy(stream, {
    get(target, key) {
      if (key === 'write') return write
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const escapeOutput = (text: string, allowsColor: boolean): string =>
  allowsColor && text.includes('\u001b')
    ? text
        .split(COLOUR_PATTERN)
        .map((part, at) => (at % 2 ? part : visibleJson(part)))
        .join('')
    : visibleJson(text)
