import type { KeyboardProtocolSettings } from './types.js'

export const defaultKeyboard: KeyboardProtocolSettings = {
  enabled: true,
  mode: 'default',
  disambiguateEscapeCodes: true,
  reportEventTypes: true,
  reportAlternateKeys: true,
  reportAllKeys: false,
}

/** Sequences that set and reset the modes of a session; each may be written twice. */
export const sequences = {
  /**
   * Resets modes of a killed program (held frames, cut rows, mouse reports), then enables bracketed paste and focus
   * reports.
   */
  enter: '\u001b[?2026l\u001b[?7h\u001b[?1006l\u001b[?1003l\u001b[?1002l\u001b[?1000l\u001b[?2004h\u001b[?1004h',
  leave: '\u001b[?2026l\u001b[?7h\u001b[?1004l\u001b[?2004l\u001b[?25h\u001b[0m',
  query: '\u001b[?u',
  /** Asks for name and version (XTVERSION). */
  which: '\u001b[>q',
  /** Asks whether the second screen is shown (DECRQM). */
  whichScreen: '\u001b[?1049$p',
  pushKitty: (settings: KeyboardProtocolSettings): string => `\u001b[>${toKittyFlags(settings)}u`,
  popKitty: '\u001b[<u',
  noKitty: '\u001b[=0;1u',
  otherKeys: '\u001b[>4;2m',
  popOtherKeys: '\u001b[>4;0m',
  alternate: '\u001b[?1049h',
  leaveAlternate: '\u001b[?1049l',
  /** Reports buttons, and moves while one is pressed. */
  mouse: '\u001b[?1002h\u001b[?1006h',
  leaveMouse: '\u001b[?1006l\u001b[?1002l',
} as const

/** Converts settings to flags of the Kitty keyboard protocol: https://sw.kovidgoyal.net/kitty/keyboard-protocol/. */
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
