/** Formats of secrets that identify themselves. A value is replaced by the name of its format, never shown in part. */
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
// Every format begins with one of these: most texts contain none, and the search for them is cheap.
const signs = /-----BEGIN |A[KS]IA|gh[pousr]_|github_pat_|glpat-|sk-|xox|AIza|[rs]k_|npm_|pypi-|eyJ/

/** Values that are secret although they have no known format: variables of our environment with a name such as `…_TOKEN`. */
const named = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)$/i
const values = new Map(Object.entries(process.env).flatMap(([name, value]) => (named.test(name) && value && value.length >= 12 ? [[value, name] as const] : [])))

/** Does the name of a variable say that its value is secret? */
export const looksSecret = (name: string): boolean => named.test(name)

/** The formats, and the known secret values with their names. */
export const secrets = { formats: formats as Readonly<Record<string, RegExp>>, values: values as ReadonlyMap<string, string> }

/** From now on this value is replaced by its name wherever it appears; a very short value is not, because ordinary words would contain it. */
export function keepSecret(value: string, name: string): void {
  // Records are JSON, which may escape the value.
  for (const spelt of [value, JSON.stringify(value).slice(1, -1)]) if (spelt.length >= 6) values.set(spelt, name.replace(/[^\w.:-]+/g, '_').slice(0, 64))
}

/** The replacement for a secret of `size` characters. */
export type Mark = (name: string, size: number) => string
const plain: Mark = (name) => `[${name}]`
/** The redaction keeps every position of the text. */
export const sameSize: Mark = (name, size) => `[${name}]`.slice(0, size).padEnd(size, '*')

/** The text without the known secret values; a text that merely resembles a secret stays. */
export function withoutValues(text: string, mark: Mark = plain): string {
  let clean = text
  for (const [value, name] of values) if (clean.includes(value)) clean = clean.replaceAll(value, mark(`redacted:${name}`, value.length))
  return clean
}

/** The text without secrets; the same string when it contains none. */
export function redactText(text: string, mark: Mark = plain): string {
  const clean = withoutValues(text, mark)
  if (!signs.test(clean)) return clean
  return clean.replace(secret, (match: string, ...groups: unknown[]) =>
    mark(`redacted:${names[groups.findIndex((group) => group !== undefined)]}`, match.length),
  )
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
  for (const [key, member] of Object.entries(value)) {
    const clean = redact(member)
    if (clean !== member) (copy ??= { ...value })[key] = clean
  }
  return copy ?? value
}
