import { secrets } from '../../../core/base/index.js'

/** What a linear engine may look for to find candidates: more than the secrets, never less. */
export const candidates = (): string[] => [
  ...Object.values(secrets.formats).map(({ source }) => source.replace(/\(\?=[^)]*\)/g, '').replace(/\$\)$/, '\\z)')),
  ...[...secrets.values.keys()].map((value) => value.replace(/[^\w\s]/g, '\\$&')),
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
  for (const value of secrets.values.keys()) marks.push(text.length - overlap(text, value))
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
