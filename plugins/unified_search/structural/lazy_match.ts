import type { LazyMatch, Native } from './types.js'

/** Wraps a complete match. */
export const toLazyMatch = (native: Native): LazyMatch => ({
  file: native.file,
  start: native.range.byteOffset.start,
  end: native.range.byteOffset.end,
  read: () => native,
})

/**
 * Converts a line of the program to a match that is parsed when shown. Quotation marks in a quoted text are escaped.
 */
export function parseLazyMatch(line: Buffer, pathOf: (name: string) => string): LazyMatch {
  const whole = (): Native => {
    const native = JSON.parse(line.toString()) as Native
    return { ...native, file: pathOf(native.file) }
  }
  const at = line.indexOf('"range":{"byteOffset":')
  const place =
    at < 0 ? null : /^"range":\{"byteOffset":\{"start":(\d+),"end":(\d+)\}/.exec(line.toString('latin1', at, at + 80))
  const from = at < 0 ? -1 : line.indexOf('"file":"', at)
  const file = from < 0 ? null : /^"file":"([\w.-]+)"/.exec(line.toString('latin1', from, from + 80))
  return place && file
    ? { file: pathOf(file[1]!), start: Number(place[1]), end: Number(place[2]), read: whole }
    : toLazyMatch(whole())
}
