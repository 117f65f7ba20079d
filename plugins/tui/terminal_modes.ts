import type { KeyboardProtocolSettings } from './types.js'

export const defaultKeyboard: KeyboardProtocolSettings = {
  enabled: true,
  mode: 'default',
  disambiguateEscapeCodes: true,
  reportEventTypes: true,
  reportAlternateKeys: true,
  reportAllKeys: false,
}

/** The modes that a session sets, and what takes them back; both may be written twice. */
export const sequences = {
  /** What a program that was killed may have left: frames held back, rows cut, buttons of the mouse told. Then bracketed paste, and what says whether the window has the focus. */
  enter: '\u001b[?2026l\u001b[?7h\u001b[?1006l\u001b[?1003l\u001b[?1002l\u001b[?1000l\u001b[?2004h\u001b[?1004h',
  leave: '\u001b[?2026l\u001b[?7h\u001b[?1004l\u001b[?2004l\u001b[?25h\u001b[0m',
  query: '\u001b[?u',
  /** Which terminal it is (XTVERSION). */
  which: '\u001b[>q',
  /** Whether it shows its second screen (DECRQM). */
  whichScreen: '\u001b[?1049$p',
  pushKitty: (settings: KeyboardProtocolSettings): string => `\u001b[>${toKittyFlags(settings)}u`,
  popKitty: '\u001b[<u',
  noKitty: '\u001b[=0;1u',
  otherKeys: '\u001b[>4;2m',
  popOtherKeys: '\u001b[>4;0m',
  alternate: '\u001b[?1049h',
  leaveAlternate: '\u001b[?1049l',
  /** Buttons, and moves while one is pressed. */
  mouse: '\u001b[?1002h\u001b[?1006h',
  leaveMouse: '\u001b[?1006l\u001b[?1002l',
} as const

/** The flags of the Kitty keyboard protocol: https://sw.kovidgoyal.net/kitty/keyboard-protocol/. */
function toKittyFlags({
  mode,
  disambiguateEscapeCodes,
  reportEventTypes,
  reportAlternateKeys,
  reportAllKeys,
}: KeyboardProtocolSettings): number {
  if (mode === 'minimal') return 1
  if (mode === 'full') return 15
  return (
    Number(disambiguateEscapeCodes) +
    2 * Number(reportEventTypes) +
    4 * Number(reportAlternateKeys) +
    8 * Number(reportAllKeys)
  )
}
