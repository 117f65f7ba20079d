/** Front matter as text: every scalar is a string, whatever it looks like. */
export type Fields = Record<string, unknown>

const key = '([A-Za-z][A-Za-z0-9_-]{0,63}):'
// Words that YAML takes as they stand: they begin with a letter or digit, hold neither ': ' nor ' #', and end in neither ':' nor a blank.
const words = '[A-Za-z0-9](?:(?!: | #)[^\\n])*(?<![: ])'
const value = `("[^"\\\\\\n]*"|'[^'\\n]*'|${words})`
const strange =
  /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const line = new RegExp(`${key} ${value}(?:\\n|$)`, 'y')
const text = new RegExp(`${key} ([>|])-\\n((?: +[^ \\n](?:[^\\n]*[^ \\n])?(?:\\n|$))+)`, 'y')
const map = new RegExp(`${key}\\n((?: +${key} ${value}(?:\\n|$))+)`, 'y')
const entry = new RegExp(`( +)${key} ${value}(?:\\n|$)`, 'gy')

/**
 * Front matter as nearly everybody writes it: `key: value` lines, texts under `>-` or `|-`, one level of indentation. It means here what YAML
 * says; whatever could mean anything else is `undefined` and left to the parser, which takes thirty times as long.
 */
export function readKeyValues(block: string): Fields | undefined {
  if (strange.test(block)) return undefined
  const fields: Fields = {}
  const put = (into: Fields, name: string, value: unknown) => !Object.hasOwn(into, name) && ((into[name] = value), true)
  const take = (form: RegExp, at: number) => ((form.lastIndex = at), form.exec(block))
  let at = 0
  while (at < block.length) {
    const match = take(line, at) ?? take(text, at) ?? take(map, at)
    if (!match) return undefined
    const [whole, name, first] = match as unknown as [string, string, string]
    const read = whole.startsWith(`${name}: `)
      ? /^[>|]$/.test(first)
        ? unfold(match[3]!, first)
        : bare(first)
      : entries(first)
    if (read === undefined || !put(fields, name, read)) return undefined
    at += whole.length
  }
  return fields

  function entries(lines: string): Fields | undefined {
    const found: Fields = {}
    let indent: string | undefined
    for (const [, blanks, name, raw] of lines.matchAll(entry)) {
      if (blanks !== (indent ??= blanks) || !put(found, name!, bare(raw!))) return undefined
    }
    return found
  }
}

const bare = (raw: string): string => (/^["']/.test(raw) ? raw.slice(1, -1) : raw)

/** Lines of one indentation as one text. */
function unfold(lines: string, style: string): string | undefined {
  const indent = /^ +/.exec(lines)![0]
  const parts = lines.replace(/\n$/, '').split('\n')
  const even = parts.every((part) => part.startsWith(indent) && part[indent.length] !== ' ')
  return even ? parts.map((part) => part.slice(indent.length)).join(style === '>' ? ' ' : '\n') : undefined
}
