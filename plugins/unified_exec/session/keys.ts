const KEY_SEQUENCES: Record<string, string> = {
  enter: '\r',
  tab: '\t',
  esc: '\x1b',
  up: '\x1b[A',
  down: '\x1b[B',
  right: '\x1b[C',
  left: '\x1b[D',
  home: '\x1b[H',
  end: '\x1b[F',
  backspace: '\x7f',
  delete: '\x1b[3~',
  'page-up': '\x1b[5~',
  'page-down': '\x1b[6~',
}
const FUNCTION_KEYS = ['OP', 'OQ', 'OR', 'OS', '[15~', '[17~', '[18~', '[19~', '[20~', '[21~', '[23~', '[24~']

/** Returns the bytes that a terminal sends for a key of the schema. */
export function toKeySequence(key: string): string {
  const [, letter] = /^ctrl-([a-z])$/.exec(key) ?? []
  if (letter) return String.fromCharCode(letter.charCodeAt(0) & 0x1f)
  const [, number] = /^f(\d+)$/.exec(key) ?? []
  if (number) return `\x1b${FUNCTION_KEYS[Number(number) - 1]}`
  return KEY_SEQUENCES[key]!
}
