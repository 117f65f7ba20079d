/** Front matter as text: every scalar is a string. */
export type Fields = Record<string, unknown>

const key = '([A-Za-z][A-Za-z0-9_-]{0,63}):'
// Plain scalars of YAML: they begin with a letter or digit, contain neither ': ' nor ' #', and end in neither ':' nor a
// blank.
const plainScalar = '[A-Za-z0-9](?:(?!: | #)[^\\n])*(?<![: ])'
const value = `("[^"\\\\\\n]*"|'[^'\\n]*'|${plainScalar})`
const CONTROLS = /[\u0000-\u0009\u000b-\u001f\u007f-\u00a0\u2028\u2029\ufeff]/
const LONE_SURROGATES = /[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/
const unsupportedChars = new RegExp(`${CONTROLS.source}|${LONE_SURROGATES.source}`)
const line = new RegExp(`${key} ${value}(?:\\n|$)`, 'y')
const blockScalar = new RegExp(`${key} ([>|])-\\n((?: +[^ \\n](?:[^\\n]*[^ \\n])?(?:\\n|$))+)`, 'y')
const map = new RegExp(`${key}\\n((?: +${key} ${value}(?:\\n|$))+)`, 'y')
const entry = new RegExp(`( +)${key} ${value}(?:\\n|$)`, 'gy')

/**
 * Parses the common form of front matter: `key: value` lines, texts under `>-` or `|-`, one level of indentation. The
 * result equals that of YAML. Returns nothing for any other form; the YAML parser then takes thirty times as long.
 */
export function readKeyValues(block: string): Fields | undefined {
  if (unsupportedChars.test(block)) return undefined
  const fields: Fields = {}
  const put = (into: Fields, name: string, value: unknown) => !Object.hasOwn(into, name) && ((into[name] = value), true)
  const take = (form: RegExp, at: number) => ((form.lastIndex = at), form.exec(block))
  let at = 0
  while (at < block.length) {
    const match = take(line, at) ?? take(blockScalar, at) ?? take(map, at)
    if (!match) return undefined
    const [whole, name, first] = match as unknown as [string, string, string]
    const read = whole.startsWith(`${name}: `)
      ? /^[>|]$/.test(first)
        ? joinLines(match[3]!, first)
        : unquote(first)
      : parseEntries(first)
    if (read === undefined || !put(fields, name, read)) return undefined
    at += whole.length
  }
  return fields

  function parseEntries(lines: string): Fields | undefined {
    const found: Fields = {}
    let indent: string | undefined
    for (const [, blanks, name, raw] of lines.matchAll(entry)) {
      if (blanks !== (indent ??= blanks) || !put(found, name!, unquote(raw!))) return undefined
    }
    return found
  }
}

const unquote = (raw: string): string => (/^["']/.test(raw) ? raw.slice(1, -1) : raw)

/** Joins lines of one indentation. */
function joinLines(lines: string, style: string): string | undefined {
  const indent = /^ +/.exec(lines)![0]
  const parts = lines.replace(/\n$/, '').split('\n')
  const even = parts.every((part) => part.startsWith(indent) && part[indent.length] !== ' ')
  return even ? parts.map((part) => part.slice(indent.length)).join(style === '>' ? ' ' : '\n') : undefined
}
