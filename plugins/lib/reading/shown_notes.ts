import { listInvisible, pluralize } from '../base/index.js'

/** Limit of kinds of characters that an explanation names. */
const MAX_KINDS = 8

/** Explains a text that shows nothing, or escapes in place of characters. `size` is that of the file in bytes. */
export function explainShownText(text: string, size: number): string | undefined {
  if (text === '') return `[no text: the file has ${pluralize(size, 'byte')}]`
  const kinds = listInvisible(text)
  if (kinds.length === 0) return undefined
  const named = kinds.slice(0, MAX_KINDS).map(({ escape, name }) => `${escape} stands for ${name}`)
  const more = kinds.length > MAX_KINDS ? ', …' : ''
  return `[invisible characters: ${named.join(', ')}${more}; an edit or a patch may give these escapes]`
}

/** Adds lines to a text that need not end with a line end. */
export function addNotes(text: string, notes: readonly (string | undefined)[]): string {
  const lines = notes.filter((line) => line !== undefined)
  return lines.length === 0 ? text : `${text}${text === '' || text.endsWith('\n') ? '' : '\n'}${lines.join('\n')}`
}
