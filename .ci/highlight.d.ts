// The types that highlight.js brings would make those of a browser known in the whole program.
declare const library: {
  registerLanguage(name: string, language: unknown): void
  getLanguage(name: string): unknown
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string }
}
export default library
