// The package's own types declare the globals of a browser everywhere: `paths` in tsconfig.json names these instead.
declare const library: {
  registerLanguage(name: string, language: unknown): void
  getLanguage(name: string): unknown
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { value: string }
}
export default library
