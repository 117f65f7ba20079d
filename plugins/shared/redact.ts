/** Formats of secrets that say what they are. A value is replaced by the name of its format, never shown in part. */
const formats: Record<string, RegExp> = {
  private_key: /-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?(?:-----END [A-Z ]*PRIVATE KEY-----|$)/,
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
const secret = new RegExp(Object.values(formats).map((format) => `(${format.source})`).join('|'), 'g')
// Every format begins with one of these: most texts hold none, and looking for them is cheap.
const signs = /-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|glpat-|sk-|xox|AIza|[rs]k_|npm_|pypi-|eyJ/

/** Values that are secret although nothing shows it: those of our environment whose names say so. */
const named = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
const values = Object.entries(process.env).flatMap(([name, value]) => (named.test(name) && value && value.length >= 12 ? [value] : []))

/** Does the name of a variable say that its value is secret? */
export const looksSecret = (name: string): boolean => named.test(name)

/** From now on this value is blotted out wherever it appears; what is too short would blot out ordinary words. */
export function keepSecret(value: string): void {
  if (value.length >= 6 && !values.includes(value)) values.push(value)
}

/** What a linear engine may look for to find candidates: more than the secrets, never less. */
export const candidates = (): string[] => [
  ...Object.values(formats).map(({ source }) => source.replace(/\(\?=[^)]*\)/g, '').replace(/\$\)$/, '\\z)')),
  ...values.map((value) => value.replace(/[^\w\s]/g, '\\$&')),
]

/** Longer than any secret that is waited for to be whole. */
export const longestSecret = 16_384

// What may be the beginning of a secret that is not whole yet: a key without its end, or a word that goes on to the end of the text.
const open = /-----BEGIN (?:[A-Z ]*$|[A-Z ]*PRIVATE KEY-----(?![\s\S]*-----END [A-Z ]*-----))/
const begun = /\b(?:A[KS]IA|gh[pousr]_|github_pat_|glpat-|sk-|xox[abeprs]-|AIza|[rs]k_(?:live|test)_|npm_|pypi-|eyJ)/
const opening = /(?<![A-Z]-{0,4})-{1,5}(?:B(?:E(?:G(?:IN?)?)?)?)?$/
const beginnings = ['AKIA', 'ASIA', 'ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_', 'github_pat_', 'glpat-', 'sk-', 'xoxb-', 'AIza', 'rk_live_', 'rk_test_', 'sk_live_', 'sk_test_', 'npm_', 'pypi-', 'eyJ']

/** Up to where a text may be told while more of it comes: to a secret that has begun and may not be whole yet. Linear in the text. */
export function settled(text: string): number {
  const marks = [text.length]
  const mark = (pattern: RegExp, from: number): void => {
    const found = pattern.exec(text.slice(from))
    if (found) marks.push(from + found.index)
  }
  mark(open, 0)
  mark(begun, startOfEnd(text, /[\w.-]/))
  // All of it, and what it looks back on, are these few characters.
  mark(opening, Math.max(0, text.length - 20))
  const word = startOfEnd(text, /[\w-]/)
  if (word < text.length && beginnings.some((sign) => sign.startsWith(text.slice(word)))) marks.push(word)
  for (const value of values) marks.push(text.length - overlap(text, value))
  const at = Math.min(...marks)
  return text.length - at < longestSecret ? at : text.length
}

/** Where the characters of one kind begin that a text ends with. A regex would try every place before it. */
function startOfEnd(text: string, kind: RegExp): number {
  let at = text.length
  while (at > 0 && kind.test(text[at - 1]!)) at--
  return at
}

/** How much of the end of a text is the beginning of a value: a few letters in the middle of a word are chance. */
function overlap(text: string, value: string): number {
  for (let length = Math.min(text.length, value.length - 1); length > 0; length--) {
    if (!value.startsWith(text.slice(-length))) continue
    if (length >= 4 || !/\w/.test(text.at(-length - 1) ?? ' ')) return length
  }
  return 0
}

/** What stands in the place of a secret of `size` characters. */
export type Mark = (name: string, size: number) => string
const plain: Mark = (name) => `[${name}]`
/** Keeps every position of the text. */
export const sameSize: Mark = (name, size) => `[${name}]`.slice(0, size).padEnd(size, '*')

/** The text without the values that are known to be secret; what merely looks like a secret stays. */
export function withoutValues(text: string, mark: Mark = plain): string {
  let clean = text
  for (const value of values) if (clean.includes(value)) clean = clean.replaceAll(value, mark('redacted', value.length))
  return clean
}

/** The text without secrets; the same string when it holds none. */
export function redactText(text: string, mark: Mark = plain): string {
  const clean = withoutValues(text, mark)
  if (!signs.test(clean)) return clean
  return clean.replace(secret, (match: string, ...groups: unknown[]) =>
    mark(`redacted ${names[groups.findIndex((group) => group !== undefined)]}`, match.length),
  )
}

/** The same for every string of plain data; what holds none is shared with the original. */
export function redact<T>(value: T): T
export function redact(value: unknown): unknown {
  if (typeof value === 'string') return value.length < 6 ? value : redactText(value)
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) {
    const items = value.map(redact)
    return items.every((item, index) => item === value[index]) ? value : items
  }
  let copy: Record<string, unknown> | undefined
  for (const [key, member] of Object.entries(value)) {
    const clean = redact(member)
    if (clean !== member) (copy ??= { ...value })[key] = clean
  }
  return copy ?? value
}
