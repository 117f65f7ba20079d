const privateKey = (inside: string, end: string): RegExp =>
  new RegExp(`-----BEGIN [A-Z ]*PRIVATE KEY-----${inside}*?(?:-----END [A-Z ]*PRIVATE KEY-----|${end})`)

/** Formats of secrets that identify themselves. A value is replaced by the name of its format, never shown in part. */
const formats: Record<string, RegExp> = {
  private_key: privateKey('[\\s\\S]', '$'),
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
const names = Object.keys(formats)
const together = (all: Record<string, RegExp>): RegExp =>
  new RegExp(
    Object.values(all)
      .map(({ source }) => `(${source})`)
      .join('|'),
    'g',
  )
const secret = together(formats)
/** In JSON the quotation mark ends a string, and with it a key that has no end. */
const secretInJson = together({ ...formats, private_key: privateKey('[^"]', '(?="|$)') })
// Every format begins with one of these: most texts contain none, and the search for them is cheap.
const signs = /-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|glpat-|sk-|xox|AIza|[rs]k_|npm_|pypi-|eyJ/

/** Values that are secret although they have no known format: variables of our environment with a name such as `…_TOKEN`. */
const named = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
const values = new Map<string, string>()
keepSecretsOf(process.env)

/** Does the name of a variable say that its value is secret? */
export const looksSecret = (name: string): boolean => named.test(name)

/** From now on this value is replaced by its name wherever it appears; a very short value is not, because ordinary words would contain it. */
export function keepSecret(value: string, name: string): void {
  // Records are JSON, which may escape the value.
  for (const spelt of [value, JSON.stringify(value).slice(1, -1)])
    if (spelt.length >= 6) values.set(spelt, name.replace(/[^\w.:-]+/g, '_').slice(0, 64))
}

/** The same for what an environment holds under such names; a short one may be a word. */
export function keepSecretsOf(env: Readonly<Record<string, string | undefined>>): void {
  for (const [name, value] of Object.entries(env))
    if (named.test(name) && value && value.length >= 12) keepSecret(value, name)
}

/** The replacement for a secret of `size` characters. */
export type Mark = (name: string, size: number) => string
const plain: Mark = (name) => `[${name}]`
/** The redaction keeps every position of the text. */
export const sameSize: Mark = (name, size) => `[${name}]`.slice(0, size).padEnd(size, '*')

/** The text without the known secret values; a text that merely resembles a secret stays. */
export function withoutValues(text: string, mark: Mark = plain): string {
  let clean = text
  for (const [value, name] of values)
    if (clean.includes(value)) clean = clean.replaceAll(value, mark(`redacted:${name}`, value.length))
  return clean
}

/** The text without secrets; the same string when it contains none. */
export const redactText = (text: string, mark: Mark = plain): string => withoutFormats(withoutValues(text, mark), mark)

/** What stands in a text where a format is looked for: `after` is a sign behind which it stands, `shown` what is looked at in its place, unit for unit. */
function withoutFormats(text: string, mark: Mark, after = '', shown = text, format = secret): string {
  if (!signs.test(shown)) return text
  let clean = ''
  let at = 0
  for (const match of (after + shown).matchAll(format)) {
    const from = match.index - after.length
    clean +=
      text.slice(at, from) +
      mark(`redacted:${names[match.slice(1).findIndex((group) => group !== undefined)]}`, match[0].length)
    at = from + match[0].length
  }
  return clean + text.slice(at)
}

const beginnings = [
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
const begun = new RegExp(`\\b(?:${beginnings.join('|')})`)
/** What may become such a beginning; a key's is not bound to begin a word. */
const beginning = new RegExp(
  `(?<!\\w)(?:${beginnings.flatMap((sign) => [...sign].slice(1).map((_, at) => sign.slice(0, at + 1))).join('|')})$|-{1,5}$|-----B(?:E(?:G(?:IN?)?)?)?$`,
)
const longestBeginning = 12
const header = /-----BEGIN [A-Z ]*-{0,4}$/

/**
 * Up to where a text can be told while more of it comes: nothing before it can still become a part of a secret, and no secret stands
 * across it. Linear in the text. `after`: a sign behind which it stands; `json`: the text is JSON.
 */
export function settled(raw: string, after = '', json = false): number {
  // Formats are looked for behind the values that are left out by then; in their places stands what is no part of a format.
  const text = plainJson(
    withoutValues(raw, (_, size) => '['.repeat(size)),
    json,
  )
  const found = signs.test(text)
    ? [...(after + text).matchAll(json ? secretInJson : secret)].map(({ index, 0: { length } }) => ({
        from: index - after.length,
        to: index - after.length + length,
      }))
    : []
  let cut = text.length
  for (const value of values.keys()) cut = Math.min(cut, startOfValue(raw, value))
  // What stands before the beginning of a format is no beginning itself, since it goes on otherwise: it is not looked at again.
  for (let at = -1, begins = -1; at !== cut;) {
    at = cut
    const across = found.find(({ from, to }) => from < at && (to > at || to === text.length))
    if (begins !== at) begins = startOfFormat(text.slice(0, at), after)
    cut = Math.max(
      0,
      Math.min(at, begins, across?.from ?? at, startAcross(raw, at), json ? startOfEscape(raw, at) : at),
    )
  }
  return cut
}

/** Where the end of a text begins that may be the beginning of a secret with a format; else its length. */
function startOfFormat(text: string, after: string): number {
  // A word that begins like a secret goes on to the end of the text.
  const run = startOfEnd(text, /[\w.-]/)
  const before = run === 0 ? after : ''
  const sign = begun.exec(before + text.slice(run))
  const short = text.length < longestBeginning
  const first = beginning.exec(short ? after + text : text.slice(-longestBeginning))
  const line = startOfEnd(text, /[A-Z -]/)
  const key = header.exec(text.slice(line))
  return Math.min(
    sign ? run + sign.index - before.length : text.length,
    first ? first.index + (short ? -after.length : text.length - longestBeginning) : text.length,
    key ? line + key.index : text.length,
  )
}

const escape = /\\(?:u[\da-fA-F]{4}|[^u])/g
/** JSON in which an escape is no letter, unit for unit: behind `\\n` a word begins. */
const plainJson = (text: string, json: boolean): string =>
  json && text.includes('\\') ? text.replace(escape, ({ length }) => '['.repeat(length)) : text

/** Where an escape begins that a place of JSON stands in the middle of, or that is not whole there; else that place. */
function startOfEscape(text: string, cut: number): number {
  for (let at = Math.max(0, cut - 5); at < cut; at++) {
    if (text[at] !== '\\' || (startOfEnd(text.slice(0, at), /\\/) - at) % 2 !== 0) continue
    if (at + (text[at + 1] === 'u' ? 6 : 2) > cut) return at
  }
  return cut
}

/** Where the characters of one kind begin that a text ends with. A regex would try every place before it. */
function startOfEnd(text: string, kind: RegExp): number {
  let at = text.length
  while (at > 0 && kind.test(text[at - 1]!)) at--
  return at
}

/** Where the end of a text begins that is the beginning of a value. */
function startOfValue(text: string, value: string): number {
  for (let at = Math.max(0, text.length - value.length + 1); (at = text.indexOf(value[0]!, at)) !== -1; at++)
    if (value.startsWith(text.slice(at))) return at
  return text.length
}

/** Where a value begins across a place of the text; else that place. */
function startAcross(text: string, cut: number): number {
  for (const value of values.keys()) {
    const from = Math.max(0, cut - value.length + 1)
    const at = text.slice(from, cut + value.length - 1).indexOf(value)
    if (at !== -1) return from + at
  }
  return cut
}

/** What is looked at again whenever something comes; more only when it has grown by a half, so that the whole takes linear time. */
const alwaysLooked = 4096

/**
 * A text that is still growing, without its secrets: what is taken of it, joined, is what `redactText` makes of the whole, no matter
 * where it was cut. No part of a secret, and no half of a character, is given before the rest is there.
 */
export class GrowingText {
  private looked = ''
  private fresh = ''
  private after = ''

  /** `json`: it is a text in JSON, where what an escape means counts. */
  constructor(private readonly json = false) {}

  add(text: string): void {
    this.fresh += text
  }

  /** What can be told by now and was not taken yet; with `whole` all of it. */
  take(whole = false): string {
    if (
      !whole &&
      (this.fresh === '' || (this.looked.length > alwaysLooked && this.fresh.length * 2 < this.looked.length))
    )
      return ''
    const text = this.looked + this.fresh
    let cut = whole ? text.length : settled(text, this.after, this.json)
    if (!whole && cut === text.length && /[\ud800-\udbff]/.test(text.at(-1) ?? '')) cut -= 1
    this.looked = text.slice(cut)
    this.fresh = ''
    const named = withoutValues(text.slice(0, cut))
    const clean = withoutFormats(
      named,
      plain,
      this.after,
      plainJson(named, this.json),
      this.json ? secretInJson : secret,
    )
    if (named !== '') this.after = /\w/.test(plainJson(named, this.json).at(-1)!) ? '_' : ''
    return clean
  }
}

/** The same for every string of plain data; parts without secrets are shared with the original. */
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
