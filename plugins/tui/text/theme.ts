import { visible } from '../../../core/text/index.js'
import { visibleWidth } from './parts.js'
import type { ThemeName } from './types.js'

type Style = (text: string) => string
const names = [
  'bold',
  'dim',
  'italic',
  'underline',
  'strike',
  'inverse',
  'red',
  'green',
  'yellow',
  'blue',
  'magenta',
  'cyan',
] as const
/** Styles of a text; each ends itself, so that the following text is unchanged. */
export type Theme = Readonly<Record<(typeof names)[number], Style>> & { readonly name: ThemeName }

const codes: Record<(typeof names)[number], readonly [on: number, off: number]> = {
  bold: [1, 22],
  dim: [2, 22],
  italic: [3, 23],
  underline: [4, 24],
  strike: [9, 29],
  inverse: [7, 27],
  red: [31, 39],
  green: [32, 39],
  yellow: [33, 39],
  blue: [34, 39],
  magenta: [35, 39],
  cyan: [36, 39],
}
// The terminal defines the sixteen colors. Yellow and cyan are too pale on a light background.
const LIGHT_CODES = { ...codes, yellow: [35, 39], cyan: [34, 39] } as typeof codes

/** Creates the styles of a theme; `none` keeps only `inverse`, which shows the cursor. */
export function createTheme(name: ThemeName): Theme {
  const table = name === 'light' ? LIGHT_CODES : codes
  const styles = names.map((style) => {
    const [on, off] = table[style]
    const plain = name === 'none' && style !== 'inverse'
    return [
      style,
      plain ? (text: string) => text : (text: string) => (text === '' ? '' : `\u001b[${on}m${text}\u001b[${off}m`),
    ] as const
  })
  return { name, ...(Object.fromEntries(styles) as Record<(typeof names)[number], Style>) }
}

/** Detects a dark or light terminal; `none` with NO_COLOR. */
export function detectTheme(env: Record<string, string | undefined>): ThemeName {
  if (env['NO_COLOR']) return 'none'
  // The last number is the background: 7 and 15 are light.
  const ground = /;(\d+)$/.exec(env['COLORFGBG'] ?? '')?.[1]
  return ground === '7' || ground === '15' ? 'light' : 'dark'
}

const STYLE_SEQUENCE = /(\u001b\[[\d;:]*m)/
/** Returns whether a style sequence neither hides text nor blinks. */
const isHarmless = (sequence: string): boolean => {
  const numbers = sequence.slice(2, -1).split(/[;:]/)
  return numbers[0] === '38' || numbers[0] === '48' || !numbers.some((one) => /^0*[568]$/.test(one))
}

/** Escapes control, invisible and bidirectional characters; keeps colors. All text of others passes here. */
export function escapeLine(text: string): string {
  if (!text.includes('\u001b')) return visible(text)
  return text
    .split(STYLE_SEQUENCE)
    .map((part, at) => (at % 2 === 0 ? visible(part) : isHarmless(part) ? part : ''))
    .join('')
}

/** Escapes a text and fits it into one row of at most `columns`, without trailing spaces, with its styles ended. */
export function fitRow(text: string, columns: number, cut: (text: string, columns: number) => string): string {
  let row = escapeLine(text.replaceAll('\n', ' ')).replaceAll('\t', '    ')
  if (visibleWidth(row) > columns) row = cut(row, columns)
  row = row.replace(/ +((?:\u001b\[[\d;:]*m)*)$/, '$1')
  return row.includes('\u001b') && !/\u001b\[0?m$/.test(row) ? `${row}\u001b[0m` : row
}

/** Longest word that is wrapped normally. */
const MAX_WORD = 2000
/** Breaks very long words into pieces that fit, because word wrapping is slow for them. */
export function breakLongWords(text: string, columns: number): string {
  if (text.length < MAX_WORD) return text
  return text.replace(new RegExp(`[^\\s\\u001b]{${MAX_WORD},}`, 'g'), (word) => {
    const most = Math.max(1, /^[\x21-\x7e]*$/.test(word) ? columns : Math.floor(columns / 2))
    return word.match(new RegExp(`.{1,${most}}`, 'gsu'))!.join('\n')
  })
}
