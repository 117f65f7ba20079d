const createKeyPattern = (inside: string, end: string): RegExp =>
  new RegExp(`-----BEGIN [A-Z ]*PRIVATE KEY-----${inside}*?(?:-----END [A-Z ]*PRIVATE KEY-----|${end})`)

/** Formats of secrets that identify themselves. A value is replaced by the name of its format, never shown in part. */
const SECRET_FORMATS: Record<string, RegExp> = {
  private_key: createKeyPattern('[\\s\\S]', '$'),
  aws_key: /\b(?:AKIA|ASIA)[0-9A-Z]{16}\b/,
  github_token: /\b(?:gh[pousr]_\w{36,}|github_pat_\w{22,})/,
  gitlab_token: /\bglpat-[\w-]{20,}/,
  // Class names such as `sk-loading-container-large` have neither digits nor capitals.
  api_key: /\bsk-(?=[\w-]*[A-Z0-9])[\w-]{20,}/,
  slack_token: /\bxox[abeprs]-[\w-]{10,}/,
  google_key: /\bAIza[\w-]{35}/,
  stripe_key: /\b[rs]k_(?:live|test)_\w{16,}/,
  npm_token: /\bnpm_\w{36}\b/,
  pypi_token: /\bpypi-AgE[\w-]{50,}/,
  json_web_token: /\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}/,
}
const FORMAT_NAMES = Object.keys(SECRET_FORMATS)
const joinPatterns = (all: Record<string, RegExp>): RegExp =>
  new RegExp(
    Object.values(all)
      .map(({ source }) => `(${source})`)
      .join('|'),
    'g',
  )
const SECRET_PATTERN = joinPatterns(SECRET_FORMATS)
/** Within JSON, a quotation mark ends a string, and a key without an end with it. */
const SECRET_IN_JSON_PATTERN = joinPatterns({ ...SECRET_FORMATS, private_key: createKeyPattern('[^"]', '(?="|$)') })
// Every format begins with one of these. Most texts contain none, and the search for them is cheap.
const PREFIX_PATTERN = /-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|glpat-|sk-|xox|AIza|[rs]k_|npm_|pypi-|eyJ/

/** Names of variables whose values are secret although they have no known format, such as `…_TOKEN`. */
const SECRET_NAME_PATTERN = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
const knownSecrets = new Map<string, string>()
registerEnvSecrets(process.env)

/** Returns whether the name of a variable marks its value as secret. */
export const isSecretName = (name: string): boolean => SECRET_NAME_PATTERN.test(name)

/**
 * Registers a value: from now on, its name replaces the value in every text. Values of less than 6 characters are
 * ignored, because ordinary words would contain them.
 */
export function registerSecret(value: string, name: string): void {
  // Records are JSON, which may escape the value.
  for (const spelt of [value, JSON.stringify(value).slice(1, -1)])
    if (spelt.length >= 6) knownSecrets.set(spelt, name.replace(/[^\w.:-]+/g, '_').slice(0, 64))
}

/**
 * Registers the values of variables with secret names. Values of less than 12 characters are ignored, because they may
 * be words.
 */
export function registerEnvSecrets(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env))
    if (SECRET_NAME_PATTERN.test(name) && value && value.length >= 12) registerSecret(value, name)
}

/** Creates the replacement of a secret of `size` characters. */
export type FormatMark = (name: string, size: number) => string
const formatMark: FormatMark = (name) => `[${name}]`
/** Keeps every position of the text. */
export const maskSameSize: FormatMark = (name, size) => `[${name}]`.slice(0, size).padEnd(size, '*')

/** Returns the text without known secret values; a text that merely resembles a secret stays. */
export function redactValues(text: string, mark: FormatMark = formatMark): string {
  let clean = text
  for (const [value, name] of knownSecrets)
    if (clean.includes(value)) clean = clean.replaceAll(value, mark(`redacted:${name}`, value.length))
  return clean
}

/** Replaces the user and password of an address. */
export const redactUserInfo = (address: string): string =>
  address.replace(/^(\s*[a-z][\w+.-]*:\/\/)[^/?#]*@/i, '$1[redacted]@')

/** Returns the text without secrets; the same string where it contains none. */
export const redactText = (text: string, mark: FormatMark = formatMark): string =>
  redactFormats(redactValues(text, mark), mark)

/**
 * Redacts secrets by their formats. `after` is a character that comes before the text. The search reads `shown`, a form
 * of the text with the same positions.
 */
function redactFormats(text: string, mark: FormatMark, after = '', shown = text, format = SECRET_PATTERN): string {
  if (!PREFIX_PATTERN.test(shown)) return text
  let clean = ''
  let at = 0
  for (const match of (after + shown).matchAll(format)) {
    const from = match.index - after.length
    clean +=
      text.slice(at, from) +
      mark(`redacted:${FORMAT_NAMES[match.slice(1).findIndex((group) => group !== undefined)]}`, match[0].length)
    at = from + match[0].length
  }
  return clean + text.slice(at)
}

const PREFIXES = [
  'AKIA',
  'ASIA',
  'ghp_',
  'gho_',
  'ghu_',
  'ghs_',
  'ghr_',
  'github_pat_',
  'glpat-',
  'sk-',
  'xox',
  'AIza',
  'rk_',
  'sk_',
  'npm_',
  'pypi-',
  'eyJ',
]
const PARTIAL_PREFIXES = PREFIXES.flatMap((prefix) => [...prefix].slice(1).map((_, at) => prefix.slice(0, at + 1)))
const WHOLE_PREFIX_PATTERN = new RegExp(`\\b(?:${PREFIXES.join('|')})`)
/** Matches the end of a text that may become a prefix. A private key may begin within a word. */
const PARTIAL_PREFIX_PATTERN = new RegExp(
  `(?<!\\w)(?:${PARTIAL_PREFIXES.join('|')})$|-{1,5}$|-----B(?:E(?:G(?:IN?)?)?)?$`,
)
const MAX_PREFIX_LENGTH = 12
const PARTIAL_HEADER_PATTERN = /-----BEGIN [A-Z ]*-{0,4}$/

/**
 * Returns the position up to which a growing text can be shown: nothing before it can become part of a secret, and no
 * secret crosses it. Takes linear time. `after` is a character before the text; `json` means that the text is JSON.
 */
export function findSafeEnd(raw: string, after = '', json = false): number {
  // Values are masked first, with characters that belong to no format.
  const text = maskEscapes(
    redactValues(raw, (_, size) => '['.repeat(size)),
    json,
  )
  const found = PREFIX_PATTERN.test(text)
    ? [...(after + text).matchAll(json ? SECRET_IN_JSON_PATTERN : SECRET_PATTERN)].map(({ index, 0: { length } }) => ({
        from: index - after.length,
        to: index - after.length + length,
      }))
    : []
  let cut = text.length
  for (const value of knownSecrets.keys()) cut = Math.min(cut, findValueStart(raw, value))
  // The text before the start of a format starts no other format, so it is not searched again.
  for (let at = -1, begins = -1; at !== cut;) {
    at = cut
    const across = found.find(({ from, to }) => from < at && (to > at || to === text.length))
    if (begins !== at) begins = findFormatStart(text.slice(0, at), after)
    cut = Math.max(
      0,
      Math.min(at, begins, across?.from ?? at, findValueAcross(raw, at), json ? findEscapeStart(raw, at) : at),
    )
  }
  return cut
}

/** Returns the start of the last part of a text that may begin a secret with a format; else the length of the text. */
function findFormatStart(text: string, after: string): number {
  // A word with such a prefix continues to the end of the text.
  const run = findTailStart(text, /[\w.-]/)
  const before = run === 0 ? after : ''
  const sign = WHOLE_PREFIX_PATTERN.exec(before + text.slice(run))
  const short = text.length < MAX_PREFIX_LENGTH
  const first = PARTIAL_PREFIX_PATTERN.exec(short ? after + text : text.slice(-MAX_PREFIX_LENGTH))
  const line = findTailStart(text, /[A-Z -]/)
  const key = PARTIAL_HEADER_PATTERN.exec(text.slice(line))
  return Math.min(
    sign ? run + sign.index - before.length : text.length,
    first ? first.index + (short ? -after.length : text.length - MAX_PREFIX_LENGTH) : text.length,
    key ? line + key.index : text.length,
  )
}

const escape = /\\(?:u[\da-fA-F]{4}|[^u])/g
/** Masks the escapes of JSON, unit for unit: a word begins after `\\n`. */
const maskEscapes = (text: string, json: boolean): string =>
  json && text.includes('\\') ? text.replace(escape, ({ length }) => '['.repeat(length)) : text

/** Returns the start of an escape of JSON that `cut` divides or that is incomplete; else `cut`. */
function findEscapeStart(text: string, cut: number): number {
  for (let at = Math.max(0, cut - 5); at < cut; at++) {
    if (text[at] !== '\\' || (findTailStart(text.slice(0, at), /\\/) - at) % 2 !== 0) continue
    if (at + (text[at + 1] === 'u' ? 6 : 2) > cut) return at
  }
  return cut
}

/**
 * Returns the start of the last run of characters of one kind. A regular expression would try every position before it.
 */
function findTailStart(text: string, kind: RegExp): number {
  let at = text.length
  while (at > 0 && kind.test(text[at - 1]!)) at--
  return at
}

/** Returns the start of the last part of a text that is the first part of a value; else the length of the text. */
function findValueStart(text: string, value: string): number {
  for (let at = Math.max(0, text.length - value.length + 1); (at = text.indexOf(value[0]!, at)) !== -1; at++)
    if (value.startsWith(text.slice(at))) return at
  return text.length
}

/** Returns the start of a value that crosses `cut`; else `cut`. */
function findValueAcross(text: string, cut: number): number {
  for (const value of knownSecrets.keys()) {
    const from = Math.max(0, cut - value.length + 1)
    const at = text.slice(from, cut + value.length - 1).indexOf(value)
    if (at !== -1) return from + at
  }
  return cut
}

/**
 * A pending text up to this length is searched after every addition. A longer one is searched only after it has grown
 * by half, so that the whole takes linear time.
 */
const SEARCH_ALWAYS_LENGTH = 4096

/**
 * Removes the secrets of a text that is still growing. The parts that are taken, joined, equal `redactText` of the
 * whole, wherever it was cut. No part of a secret and no half of a character is returned early.
 */
export class GrowingText {
  private pending = ''
  private fresh = ''
  private after = ''

  /** `json`: the text is JSON, so the meaning of escapes counts. */
  constructor(private readonly json = false) {}

  add(text: string): void {
    this.fresh += text
  }

  /** Returns the text that is safe by now and was not taken yet; with `whole`, all of it. */
  take(whole = false): string {
    if (
      !whole &&
      (this.fresh === '' || (this.pending.length > SEARCH_ALWAYS_LENGTH && this.fresh.length * 2 < this.pending.length))
    )
      return ''
    const text = this.pending + this.fresh
    let cut = whole ? text.length : findSafeEnd(text, this.after, this.json)
    if (!whole && cut === text.length && /[\ud800-\udbff]/.test(text.at(-1) ?? '')) cut -= 1
    this.pending = text.slice(cut)
    this.fresh = ''
    const withoutValues = redactValues(text.slice(0, cut))
    const clean = redactFormats(
      withoutValues,
      formatMark,
      this.after,
      maskEscapes(withoutValues, this.json),
      this.json ? SECRET_IN_JSON_PATTERN : SECRET_PATTERN,
    )
    if (withoutValues !== '') this.after = /\w/.test(maskEscapes(withoutValues, this.json).at(-1)!) ? '_' : ''
    return clean
  }
}

/** Returns plain data with the secrets in its strings redacted; parts without secrets are shared with the original. */
export function redact<T>(value: T): T
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return value.length < 6 ? value : redactText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(redact)
    return items.every((item, index) => item === value[index]) ? value : items
  }
  let copy: Record<string, unknown> | undefined
  for (const key of Object.keys(value)) {
    const member = (value as Record<string, unknown>)[key]
    const clean = redact(member)
    if (clean !== member) (copy ??= { ...value })[key] = clean
  }
  return copy ?? value
}
