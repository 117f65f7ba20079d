/**
 * Treatment of rows that are too wide after a terminal becomes narrower. `none` cuts them, `all` wraps them.
 * `others` wraps all but the line of the cursor, and moves that line as if rows wrapped below were above it.
 */
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
 * Detects the reflow of a terminal from its environment or its answer to XTVERSION (`CSI > q`). Assumes `none` for an
 * unknown terminal: counting too many rows would erase finished ones.
 */
export function detectReflow(env: Record<string, string | undefined>, version = ''): Reflow {
  const program = version || (env['TERM_PROGRAM'] ?? env['TERM'] ?? '')
  if (REFLOW_OTHERS.test(program)) return 'others'
  return REFLOW_ALL.test(program) || REFLOW_VARIABLES.some((name) => env[name] !== undefined) ? 'all' : 'none'
}
