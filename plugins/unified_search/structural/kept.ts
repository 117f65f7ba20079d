import type { KeptMatch, Native } from './types.js'

/** A match that is there as a whole. */
export const kept = (native: Native): KeptMatch => ({ file: native.file, start: native.range.byteOffset.start, end: native.range.byteOffset.end, whole: () => native })

/** A line of the program as a match; the whole of it is read when it is shown. In a text that it quotes no quotation mark stands bare. */
export function keptIn(line: Buffer, pathOf: (name: string) => string): KeptMatch {
  const whole = (): Native => {
    const native = JSON.parse(line.toString()) as Native
    return { ...native, file: pathOf(native.file) }
  }
  const text = line.toString('latin1')
  const place = /"range":\{"byteOffset":\{"start":(\d+),"end":(\d+)\}/.exec(text)
  const file = /"file":"([\w.-]+)"/.exec(text)
  return place && file ? { file: pathOf(file[1]!), start: Number(place[1]), end: Number(place[2]), whole } : kept(whole())
}
