export { spawnSession, spawnSessionWithHost } from './session.js'
export { findTerminalFault } from './surface.js'
export { detectTheme } from './theme.js'
export type {
  Action,
  Block,
  OverlayChoice,
  HostAdapter,
  KeyboardProtocolSettings,
  Overlay,
  SessionOptions,
  SessionSurface,
  SlashCommand,
  ThemeName,
  UiCommand,
  UiEvent,
  UiHandle,
  UiSession,
} from './types.js'
