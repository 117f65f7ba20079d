import { visibleJson } from '../text/index.js'

type Output = NodeJS.WriteStream

/** The colours of our own; nothing else may begin with an escape. */
const colours = /(\u001b\[(?:1|2|22|3[1-6]|39)m)/

/**
 * Makes a stream the one door to a terminal: whoever writes to it, no control, bidirectional or invisible character of others gets
 * through. What a face has not made visible itself is escaped as JSON does, so that a document stays the same document. Returns the
 * stream as it was, for what moves the cursor.
 */
export function guarded(stream: Output): Output {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  const coloured = stream.isTTY === true
  stream.write = ((chunk: string | Uint8Array, ...rest: unknown[]) =>
    write(fit(typeof chunk === 'string' ? chunk : Buffer.from(chunk).toString(), coloured), ...rest)) as Output['write']
  return new Proxy(stream, {
    get(target, key) {
      if (key === 'write') return write
      const value: unknown = Reflect.get(target, key)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const fit = (text: string, coloured: boolean): string =>
  coloured && text.includes('\u001b')
    ? text
        .split(colours)
        .map((part, at) => (at % 2 ? part : visibleJson(part)))
        .join('')
    : visibleJson(text)
