/**
 * The one way out for text that others wrote. C0 and C1 controls but tab and newline, bidirectional controls, zero-width characters,
 * line separators and tags become escapes, so that such a text moves no cursor, hides nothing and forges no line. A character that
 * a script or a sign needs to be drawn right stays where it does so: a joiner between pictures or within a word, one variant behind its base.
 */
export const visible = (text: string): string => escaped(text, (point) => `\\u{${point.toString(16)}}`)

/** The same for a place of one line. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '\\u{a}')

/** The same for a text of many lines that a model reads; lines may end as on Windows. */
export const visibleText = (text: string): string => visible(text.replaceAll('\r\n', '\n'))

/** A report of progress as it is told: its figures, where they are some, and what fits of its text. */
export function visibleProgress(update: unknown): { done?: number; total?: number; text?: string } {
  const { done, total, text } = (typeof update === 'object' && update !== null ? update : {}) as Record<string, unknown>
  const isFigure = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
  return {
    ...(isFigure(done) && { done }),
    ...(isFigure(total) && { total }),
    ...(typeof text === 'string' && { text: visibleText(text.slice(0, longestProgress)) }),
  }
}
const longestProgress = 65_536

/** The same within a JSON document, as its own escapes: what is parsed stays what it was. */
export const visibleJson = (document: string): string =>
  escaped(document, (_, char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )

/** The same left out, for texts of manifests and skills: nobody misses there what nobody sees. */
export const withoutInvisible = (text: string): string => escaped(text, () => '')

/** One line of at most `most` characters: of a longer one both ends, and its length. */
export function shortLine(text: string, most: number): string {
  const line = visibleLine(text)
  if (line.length <= most) return line
  const points = Array.from(line)
  const head = Math.ceil(most / 2)
  return points.length <= most
    ? line
    : `${points.slice(0, head).join('')} … (${points.length} characters) … ${points.slice(head - most).join('')}`
}

/** Text of others within a template: what looks like the name of a tool there is rendered by nobody. */
export const inert = (text: string): string => text.replace(templated, '{ ')
const templated = /\{(?=(?:slot|tool|field):)/g

/** Text of others in a block of a prompt that ends where we end it: a mark of the same name in it opens and closes nothing. */
export function block(name: string, content: string, attributes: Readonly<Record<string, string>> = {}): string {
  const inner = visibleText(content).replace(new RegExp(`<(?=\\s*(?:/\\s*)?${name}\\b)`, 'gi'), '&lt;')
  const shown = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${visibleLine(value).replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`,
  )
  return `<${name}${shown.join('')}>\n${inner}\n</${name}>`
}

/** A test without properties is ten times as fast, and most texts pass it: every unit that a deceptive character begins with. */
const suspicious = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f',
    '\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ud804\\ud80d\\ud82f\\ud834\\udb40-\\udb43]',
  ].join(''),
)

function escaped(text: string, escape: (point: number, char: string) => string): string {
  if (!suspicious.test(text)) return text
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (char, at: number) => {
    const point = char.codePointAt(0)!
    return char === '\n' || char === '\t' || isDrawn(point, text, at, at + char.length) ? char : escape(point, char)
  })
}

const picture = /\p{Extended_Pictographic}[\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u
const cursive = [
  'Arabic',
  'Syriac',
  'Mongolian',
  'Nko',
  'Devanagari',
  'Bengali',
  'Gurmukhi',
  'Gujarati',
  'Oriya',
  'Tamil',
  'Telugu',
  'Kannada',
  'Malayalam',
  'Sinhala',
  'Khmer',
  'Myanmar',
]
const joining = `[${cursive.map((script) => `\\p{Script=${script}}`).join('')}]`
// Tables of characters take long to look up, and hardly any text asks for these.
let withinWord: { before: RegExp; behind: RegExp } | undefined

function isDrawn(point: number, text: string, from: number, to: number): boolean {
  const [before, behind] = [() => text.slice(Math.max(0, from - 4), from), () => text.slice(to, to + 4)]
  if (point === 0x200d && picture.test(before()) && /^\p{Extended_Pictographic}/u.test(behind())) return true
  withinWord ??= { before: new RegExp(`${joining}$`, 'u'), behind: new RegExp(`^${joining}`, 'u') }
  if (point === 0x200c || point === 0x200d) return withinWord.before.test(before()) && withinWord.behind.test(behind())
  if (point === 0xfe0e || point === 0xfe0f) return /[\p{Extended_Pictographic}\d#*]$/u.test(before())
  return point >= 0xe0100 && point <= 0xe01ef && /\p{Script=Han}$/u.test(before())
}

/** A value of strangers as text. JSON may hold what JavaScript makes no text of: `{"toString": 1}`, lists within lists without end. */
export function toText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '[object Object]'
  }
}
