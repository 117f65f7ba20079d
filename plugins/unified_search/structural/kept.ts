import type { KeptMatch, Native } from './types.js'

/** A match that is there as a whole. */
export const keptMatch = (native: Native): KeptMatch => ({
  file: native.file,
  start: native.range.byteOffset.start,
  end: native.range.byteOffset.end,
  whole: () => native,
})

/** A line of the program as a match, parsed when it is shown. Quotation marks in a quoted text are escaped. */
export function keptIn(line: Buffer, pathOf: (name: string) => string): KeptMatch {
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
    ? { file: pathOf(file[1]!), start: Number(place[1]), end: Number(place[2]), whole }
    : keptMatch(whole())
}
