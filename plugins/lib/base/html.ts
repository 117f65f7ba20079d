import { escapeUTF8 } from 'entities/escape'
import { visible } from '../../../core/text/index.js'

/** HTML whose texts are escaped. */
export class Html {
  constructor(readonly text: string) {}
}
type Part = Html | string | number | undefined | readonly Part[]

/** Escapes a value of a log for HTML, whatever its type; invisible characters become numbers. */
const escapeHtml = (value: unknown): string => escapeUTF8(visible(String(value)))

// The page of a long run repeats its templates thousands of times.
const INDENTATION = /\n\s+/g

/** Builds HTML. Escapes each value but its own results; `undefined` is nothing, a list has no separator. */
export const html = (texts: TemplateStringsArray, ...values: Part[]): Html =>
  new Html(
    texts.map((text, at) => text.replace(INDENTATION, '\n') + (at < values.length ? toHtml(values[at]) : '')).join(''),
  )

function toHtml(value: Part): string {
  if (value === undefined) return ''
  if (value instanceof Html) return value.text
  return Array.isArray(value) ? value.map((one: Part) => toHtml(one)).join('') : escapeHtml(value)
}
