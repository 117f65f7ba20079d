export { renderBlock } from './blocks.js'
export { loadHighlighter } from './highlight.js'
export { StreamingMarkdown, type MarkdownPart } from './markdown.js'
export {
  CURSOR_MARKER,
  Editor,
  isKeyRelease,
  matchesKey,
  SelectList,
  setKittyProtocolActive,
  StdinBuffer,
  truncateToWidth,
  visibleWidth,
  type AutocompleteItem,
  type AutocompleteProvider,
  type AutocompleteSuggestions,
  type EditorTheme,
  type KeyId,
  type TUI,
} from './parts.js'
export { createTheme, detectTheme, fitRow, type Theme } from './theme.js'
export type { Block, ThemeName } from './types.js'
