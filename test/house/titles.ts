import { textOf } from './sources.js'

/** Returns whether a title stands in a test file as a text of its own; numbers of cases may stand before it. */
export function hasTest(file: string, title: string): boolean {
  const escaped = title.replace(/[.*+?^${}()|[\]\\]/g, '\\$&').replaceAll("'", "\\\\?'")
  return new RegExp(`(['"\`])(?:[\\d, ]+: )?${escaped}\\1`).test(textOf(file))
}
