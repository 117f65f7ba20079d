export { spawnSession, spawnSessionWithHost } from './session.js'
export { findTerminalFault } from './surface.js'
export { detectTheme, type Block, type ThemeName } from './text/index.js'
export type {
  Action,
  OverlayChoice,
  HostAdapter,
  KeyboardProtocolSettings,
  Overlay,
  SessionOptions,
  SessionSurface,
  SlashCommand,
  UiCommand,
  UiEvent,
  UiHandle,
  UiSession,
} from './types.js'
