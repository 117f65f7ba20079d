// The one place where pi-tui is named: its parts serve here, its renderer, which erases the history of a terminal, does not.
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
} from '@mariozechner/pi-tui'
export type {
  AutocompleteItem,
  AutocompleteProvider,
  AutocompleteSuggestions,
  EditorTheme,
  KeyId,
  MarkdownTheme,
  TUI,
} from '@mariozechner/pi-tui'
