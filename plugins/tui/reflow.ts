/** What a terminal that becomes narrower does with rows that do not fit any more: it cuts them, folds all, or folds all but the line of the cursor, and moves that as if what was folded below were above it. */
export type Reflow = 'none' | 'all' | 'others'

const REFLOW_ALL = /^(?:tmux|kitty|iTerm|WezTerm|ghostty|foot|Konsole|VTE|contour|Warp|rio|alacritty|Apple_Terminal)/i
const REFLOW_OTHERS = /^(?:xterm\.js|vscode|Hyper|Tabby)/i
const REFLOW_VARIABLES = [
  'VTE_VERSION',
  'KITTY_WINDOW_ID',
  'WT_SESSION',
  'KONSOLE_VERSION',
  'ALACRITTY_WINDOW_ID',
  'TMUX',
]

/**
 * What a terminal does, by its environment or by what it answers to XTVERSION (`CSI > q`). Of an unknown one, which may be reached through
 * a program that cuts, it is supposed that it does: who counts too many rows erases what is finished.
 */
export function detectReflow(env: Record<string, string | undefined>, version = ''): Reflow {
  const program = version || (env['TERM_PROGRAM'] ?? env['TERM'] ?? '')
  if (REFLOW_OTHERS.test(program)) return 'others'
  return REFLOW_ALL.test(program) || REFLOW_VARIABLES.some((name) => env[name] !== undefined) ? 'all' : 'none'
}
