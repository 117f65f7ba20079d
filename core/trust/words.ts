import { homedir } from 'node:os'

const inBackslashes = /\\(?:u\{([\da-f]+)\}|u([\da-f]{4})|x([\da-f]{2})|([^ux]))/gi

/** A text with the escapes of JavaScript taken out. */
export function unescaped(text: string): string {
  if (!text.includes('\\')) return text
  return text.replace(inBackslashes, (_, long?: string, four?: string, two?: string, other?: string) => other ?? String.fromCodePoint(Math.min(0x10ffff, parseInt(long ?? four ?? two!, 16))))
}

/** The same with those of `$'…'`, which has octal ones too. */
const unescapedAnsi = (text: string): string => unescaped(text.replace(/\\([0-7]{1,3})/g, (_, octal: string) => String.fromCharCode(parseInt(octal, 8) & 255)))

const piece = /\\\n|\\([^])|\$'((?:[^'\\]|\\[^])*)'?|'([^']*)'?|"((?:[^"\\]|\\[^])*)"?|([\s;&|<>()`]+)|([^\\'"\s;&|<>()`$]+|[^])/g

/** The words that a shell makes of a text, quotes and backslashes taken out, and those of each word that is a command line again. */
function commandLineWords(text: string, depth = 0): string[] {
  const words: string[] = []
  let word: string | undefined
  const add = (part: string): void => void (word = (word ?? '') + part)
  for (const [whole, escaped, ansi, single, double, space, other] of text.matchAll(piece)) {
    if (space !== undefined) {
      if (word !== undefined) words.push(word)
      word = undefined
    } else if (whole !== '\\\n') add(escaped ?? (ansi === undefined ? undefined : unescapedAnsi(ansi)) ?? single ?? double?.replace(/\\\n/g, '').replace(/\\(["\\$`])/g, '$1') ?? other ?? '')
  }
  if (word !== undefined) words.push(word)
  const again = depth >= DEEPEST ? [] : words.filter((one) => one.length < text.length && /[\s;&|<>()`'"\\]/.test(one))
  return [...words, ...again.flatMap((one) => commandLineWords(one, depth + 1))]
}
/** Command lines within command lines. */
const DEEPEST = 8

const variables = /\{\$[\w.]+\}|\$(?:\{[^}]*\}|[A-Za-z_]\w*|[@*#?$!\d-])/g
const byDefault = /\$\{\w+:?[-=+]([^}]*)\}/g
const cuts = [/[\s;&|<>()`]+/, /[\s=:;'"&|<>(){}[\]`,@+]+/, /['"`]+/]

/**
 * Every text in a command line, or in a script, that could be the name of a file: more words than any shell would make of it, with and
 * without quotes and escapes. A variable, or what another command prints, stands for nothing: what follows is looked for in every folder.
 */
export function fileWordsOf(text: string): Set<string> {
  const forms = text.includes('$') ? [text, text.replace(variables, ''), text.replace(byDefault, '$1')] : [text]
  const plain = forms.flatMap((form) => (form.includes('\\') ? [form, form.replace(/\\\n/g, '').replace(/\\(.)/gs, '$1'), unescaped(form)] : [form]))
  const cut = plain.flatMap((one) => [one, one.trim(), ...cuts.flatMap((mark) => one.split(mark))])
  const raw = [...cut, ...forms.flatMap((form) => [...commandLineWords(form), ...(form.match(/'[^']*'|"[^"]*"/g) ?? []).map((word) => word.slice(1, -1))])]
  const words = new Set<string>()
  for (const word of new Set(raw)) for (const one of spellings(word)) if (one !== '' && one.length < 4096 && !one.includes('\0')) words.add(one)
  return words
}

/** What a program may take of a word: a value behind an option, an address, a path from the home. */
function spellings(word: string): string[] {
  if (/^[\w.][\w./-]*$/.test(word)) return [word]
  const bare = /['"]/.test(word) ? [word, word.replace(/['"]/g, '')] : [word]
  const values = bare.flatMap((one) => [one, ...[...'=:@'].flatMap((mark) => (one.includes(mark) ? [one.slice(one.indexOf(mark) + 1)] : [])), one.replace(/^-\w/, ''), one.replace(/^[^\w./~]+/, '')])
  const whole = values.flatMap((one) => [one, ...(/[?#]/.test(one) ? [one.replace(/[?#].*$/s, '')] : []), ...(one.includes('%') ? [decoded(one)] : [])])
  return whole.flatMap((one) => [one, ...(one.startsWith('~/') ? [homedir() + one.slice(1)] : []), ...(/^[/~]/.test(one) ? [one.replace(/^\/+/, '/'), ...tailsOf(one)] : [])])
}

/** A path from elsewhere may lead here by another name, such as `/proc/self/cwd`: each end of it is looked for. */
function tailsOf(path: string): string[] {
  const names = path.split('/').slice(-MOST_NAMES).filter((name) => name !== '')
  return names.map((_, at) => names.slice(at).join('/'))
}
const MOST_NAMES = 12

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replace(/[?#].*$/s, ''))
  } catch {
    return text
  }
}
