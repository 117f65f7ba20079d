// The only import of pi-tui. Its renderer is not used, because it erases the history of a terminal.
export {
  CURSOR_MARKER,
  Editor,
  isKeyRelease,
  Markdown,
  matchesKey,
  SelectList,
  setCapabilities,
  setKittyProtocolActive,
  StdinBuffer,
  truncateToWidth,
  visibleWidth,
  wrapTextWithAnsi,
} from '@earendil-works/pi-tui'
export type {
  AutocompleteItem,
  AutocompleteProvider,
  AutocompleteSuggestions,
  EditorTheme,
  KeyId,
  MarkdownTheme,
  TUI,
} from '@earendil-works/pi-tui'
