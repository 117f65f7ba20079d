import { redactText } from './secrets.js'

/**
 * Escapes invisible and controlling characters in text of others: C0 and C1 controls except tab and newline,
 * bidirectional controls, zero-width characters, line separators and tags. The text then moves no cursor, hides nothing
 * and forges no line. A character that a script or an emoji needs stays in that position: a joiner between pictures or
 * within a word, one variation selector after its base.
 */
export const visible = (text: string): string => escapeInvisible(text, (point) => `\\u{${point.toString(16)}}`)

/** Escapes text for one line. */
export const visibleLine = (text: string): string => visible(text).replaceAll('\n', '\\u{a}')

/** Escapes text of many lines for a model; CRLF becomes LF. */
export const visibleText = (text: string): string => visible(text.replaceAll('\r\n', '\n'))

/** Returns a report of progress with its valid numbers and its text, shortened. */
export function toVisibleProgress(update: unknown): { done?: number; total?: number; text?: string } {
  const { done, total, text } = (typeof update === 'object' && update !== null ? update : {}) as Record<string, unknown>
  const isFigure = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)
  return {
    ...(isFigure(done) && { done }),
    ...(isFigure(total) && { total }),
    ...(typeof text === 'string' && { text: visibleText(text.slice(0, MAX_PROGRESS_TEXT)) }),
  }
}
const MAX_PROGRESS_TEXT = 65_536

/** Escapes a JSON document with the escapes of JSON, so that its parsed value does not change. */
export const visibleJson = (document: string): string =>
  escapeInvisible(document, (_, char) =>
    Array.from({ length: char.length }, (_, at) => `\\u${char.charCodeAt(at).toString(16).padStart(4, '0')}`).join(''),
  )

/** Removes these characters, for texts of manifests and skills. */
export const removeInvisible = (text: string): string => escapeInvisible(text, () => '')

/**
 * Formats a text as one line of at most `most` characters: of a longer text, both ends and its length. Secrets of a
 * longer text are redacted before the cut, which would leave parts of them that no later redaction knows.
 */
export function truncateLine(text: string, most: number): string {
  const whole = visibleLine(text)
  if (whole.length <= most) return whole
  const line = visibleLine(redactText(text))
  const points = Array.from(line)
  const head = Math.ceil(most / 2)
  return points.length <= most
    ? line
    : `${points.slice(0, head).join('')} … (${points.length} characters) … ${points.slice(head - most).join('')}`
}

/** Makes text of others safe inside a template: names of tools in it are not rendered. */
export const escapeTemplates = (text: string): string => text.replace(TEMPLATE_PATTERN, '{ ')
const TEMPLATE_PATTERN = /\{(?=(?:slot|tool|field):)/g

/** Renders text of others as a block of a prompt. A tag of the same name within the text does not end the block. */
export function block(name: string, content: string, attributes: Readonly<Record<string, string>> = {}): string {
  const inner = visibleText(content).replace(new RegExp(`<(?=\\s*(?:/\\s*)?${name}\\b)`, 'gi'), '&lt;')
  const shown = Object.entries(attributes).map(
    ([key, value]) => ` ${key}="${visibleLine(value).replaceAll('"', '&quot;').replaceAll('<', '&lt;')}"`,
  )
  return `<${name}${shown.join('')}>\n${inner}\n</${name}>`
}

/**
 * Every unit with which a deceptive character begins. A test without Unicode properties is ten times as fast, and most
 * texts pass it.
 */
const SUSPICIOUS_PATTERN = new RegExp(
  [
    '[\\u0000-\\u0008\\u000b-\\u001f\\u007f-\\u009f\\u00ad\\u034f\\u0600-\\u0605\\u061c\\u06dd\\u070f\\u0890\\u0891',
    '\\u08e2\\u115f\\u1160\\u17b4\\u17b5\\u180b-\\u180f\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f\\u3164',
    '\\ufe00-\\ufe0f\\ufeff\\uffa0\\ufff0-\\ufffb\\ud804\\ud80d\\ud82f\\ud834\\udb40-\\udb43]',
  ].join(''),
)

function escapeInvisible(text: string, escape: (point: number, char: string) => string): string {
  if (!SUSPICIOUS_PATTERN.test(text)) return text
  return text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu, (char, at: number) => {
    const point = char.codePointAt(0)!
    return char === '\n' || char === '\t' || isDrawn(point, text, at, at + char.length) ? char : escape(point, char)
  })
}

// oxlint-disable-next-line eslint/no-misleading-character-class -- The class names parts of a picture.
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
// Created on first use: tables of characters take long to compile, and few texts need them.
let wordPatterns: { before: RegExp; following: RegExp } | undefined

function isDrawn(point: number, text: string, from: number, to: number): boolean {
  const [before, following] = [() => text.slice(Math.max(0, from - 4), from), () => text.slice(to, to + 4)]
  if (point === 0x200d && picture.test(before()) && /^\p{Extended_Pictographic}/u.test(following())) return true
  wordPatterns ??= { before: new RegExp(`${joining}$`, 'u'), following: new RegExp(`^${joining}`, 'u') }
  if (point === 0x200c || point === 0x200d)
    return wordPatterns.before.test(before()) && wordPatterns.following.test(following())
  if (point === 0xfe0e || point === 0xfe0f) return /[\p{Extended_Pictographic}\d#*]$/u.test(before())
  return point >= 0xe0100 && point <= 0xe01ef && /\p{Script=Han}$/u.test(before())
}

/**
 * Converts a value of others to text. JSON may hold values that JavaScript cannot convert: `{"toString": 1}`, endlessly
 * nested lists.
 */
export function toText(value: unknown): string {
  try {
    return String(value)
  } catch {
    return '[object Object]'
  }
}
