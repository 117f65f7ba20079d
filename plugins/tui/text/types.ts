export type ThemeName = 'dark' | 'light' | 'none'

/** A piece of content. `output` keeps its own colors; text of other kinds has none. */
export interface Block {
  kind: 'markdown' | 'text' | 'output' | 'user' | 'note' | 'error' | 'diff'
  text: string
}
