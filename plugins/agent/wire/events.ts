import { isObject, type JsonObject } from '../../../core/shapes/index.js'
import { Cut, cutServerText } from './fault.js'

/** The data of an event, or a mark that the answer is over. */
export const DONE = '[DONE]'

/**
 * Reads the data of events (`text/event-stream`, HTML Living Standard 9.2.6), in batches as they arrive. A body that
 * begins with a brace or bracket is a document, and its text is one datum. An unfinished last line is dropped.
 */
export async function* splitEvents(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string[]> {
  const decoder = new TextDecoder()
  let isDocument: boolean | undefined
  let pieces: string[] = []
  let data: string[] = []
  for await (const chunk of chunks) {
    const text = decoder.decode(chunk, { stream: true })
    if (isDocument === undefined && text.trim() !== '') isDocument = /^\s*[[{]/.test(text)
    pieces.push(text)
    if (isDocument === true || !text.includes('\n')) continue
    const lines = pieces.join('').split('\n')
    pieces = [lines.pop()!]
    const batch: string[] = []
    for (const line of lines) {
      const field = line.endsWith('\r') ? line.slice(0, -1) : line
      if (field.startsWith('data:')) data.push(field.slice(field[5] === ' ' ? 6 : 5))
      else if (field === '' && data.length > 0) {
        batch.push(data.join('\n'))
        data = []
      }
    }
    if (batch.length > 0) yield batch
  }
  if (isDocument === true) yield [pieces.join('')]
  else if (data.length > 0) yield [data.join('\n')]
}

/**
 * Parses a datum to its objects. Servers that leave out the empty line between events, and documents of one object a
 * line, have several. Text that is no JSON has none. Throws Cut for JSON with a fault.
 */
export function parseEvents(datum: string): JsonObject[] {
  const whole = parse(datum)
  if (whole !== undefined) return (Array.isArray(whole) ? whole : [whole]).filter(isObject)
  const lines = datum.split('\n').filter((line) => line.trim() !== '' && line.trim() !== DONE)
  const values = lines.map(parse)
  if (lines.length > 1 && values.every((value) => value !== undefined)) return values.filter(isObject)
  if (/^\s*[[{]/.test(datum))
    throw new Cut(`The answer broke off: an event is not JSON: '${cutServerText(datum, 80)}'.`)
  return []
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}

/** Formats an object as an event. */
export const formatEvent = (event: JsonObject): string =>
  `${typeof event['type'] === 'string' ? `event: ${event['type']}\n` : ''}data: ${JSON.stringify(event)}\n\n`
