import { detectTheme } from './text/index.js'
import { problem } from '../../core/shapes/index.js'
import { TerminalSession } from './drive.js'
import { findTerminalFault } from './surface.js'
import { defaultKeyboard } from './terminal_modes.js'
import type { HostAdapter, SessionOptions, UiSession } from './types.js'

const defaults = (): SessionOptions => ({
  placeholder: '',
  surface: 'auto',
  inlineRows: 16,
  keyboard: defaultKeyboard,
  fullscreen: { mouseCapture: true, copyOnSelect: true, scrollSpeed: 3 },
  workspaceRoot: process.cwd(),
  slashCommands: [],
  appName: 'vtcode',
  theme: detectTheme(process.env),
  keyBindings: {},
  nonInteractiveHint: 'Run it in a terminal.',
  history: [],
  files: async () => [],
  onEvent: () => {},
  onFocus: () => {},
  stdin: process.stdin,
  output: process.stdout,
  env: process.env,
})

/** Draws an editor on the terminal, and restores the terminal however the process ends. Throws VtError VT_UI_NO_TTY. */
export function spawnSession(options: Partial<SessionOptions> = {}): UiSession {
  const all: SessionOptions = { ...defaults(), ...options }
  const reason = findTerminalFault(all)
  if (reason !== undefined) throw problem('VT_UI_NO_TTY', { reason, way: all.nonInteractiveHint })
  const drive = new TerminalSession(all)
  return { handle: drive, events: drive.events }
}

/** Starts a session with the options of a host program. */
export function spawnSessionWithHost(host: HostAdapter): UiSession {
  return spawnSession({
    workspaceRoot: host.workspace().root,
    theme: host.themes().active,
    slashCommands: host.slashCommands(),
    appName: host.appName(),
    onFocus: (focused) => host.setTerminalFocused(focused),
    ...(host.nonInteractiveHint && { nonInteractiveHint: host.nonInteractiveHint() }),
    ...host.sessionDefaults(),
  })
}
