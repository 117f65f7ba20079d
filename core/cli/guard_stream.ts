import { visibleJson } from '../text/index.js'

type Output = NodeJS.WriteStream

/** The only escape sequences that pass: colours, bold and dim. */
const COLOUR_PATTERN = /(\u001b\[(?:1|2|22|3[1-6]|39)m)/

/**
 * Escapes everything that is written to a stream: no control, bidirectional or invisible character of others reaches
 * the terminal. Text that a surface has not escaped is escaped as in JSON, so that a document keeps its meaning.
 * Returns the unescaped stream, for cursor movement.
 */
export function guardStream(stream: Output): Output {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  const coloured = stream.isTTY === true
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) =>
    write(
      escapeOutput(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(), coloured),
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

const escapeOutput = (text: string, coloured: boolean): string =>
  coloured && text.includes('\u001b')
    ? text
        .split(COLOUR_PATTERN)
        .map((part, at) => (at % 2 ? part : visibleJson(part)))
        .join('')
    : visibleJson(text)
