import { problem } from '../../core/shapes/index.js'
import { Drive } from './drive.js'
import { unfitTerminal } from './surface.js'
import { defaultKeyboard } from './terminal_modes.js'
import { themeOfTerminal } from './theme.js'
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
  theme: themeOfTerminal(process.env),
  keyBindings: {},
  nonInteractiveHint: 'Start it in a terminal.',
  history: [],
  files: async () => [],
  onEvent: () => {},
  onFocus: () => {},
  stdin: process.stdin,
  output: process.stdout,
  env: process.env,
})

/** Takes the terminal and draws an editor on it; whatever the process ends by, the terminal is then as it was. Throws VtError VT_UI_NO_TTY. */
export function spawnSession(options: Partial<SessionOptions> = {}): UiSession {
  const all: SessionOptions = { ...defaults(), ...options }
  const reason = unfitTerminal(all)
  if (reason !== undefined) throw problem('VT_UI_NO_TTY', { reason, way: all.nonInteractiveHint })
  const drive = new Drive(all)
  return { handle: drive, events: drive.events }
}

/** The same for a program that says what it is. */
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
