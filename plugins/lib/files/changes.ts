/** One replaced piece of a text: its old and its new place. Offsets in bytes. */
export interface Region {
  oldStart: number
  oldEnd: number
  start: number
  end: number
}

/** A text being changed: its current bytes and the pieces that differ from the original. */
export class Changes {
  private regions: Region[] = []
  constructor(
    readonly before: Buffer,
    public bytes: Buffer = before,
  ) {}

  /** Pieces that differ, in order; no two touch. */
  get all(): readonly Region[] {
    return this.regions
  }

  /** Replaces spans of the current bytes, in order and without overlap, in one copy. */
  replace(spans: readonly { start: number; end: number; by: Buffer }[]): void {
    const pieces: Buffer[] = []
    let from = 0
    let shift = 0
    for (const { start, end, by } of spans) {
      pieces.push(this.bytes.subarray(from, start), by)
      this.addRegion(start + shift, end + shift, by.length)
      shift += by.length - (end - start)
      from = end
    }
    pieces.push(this.bytes.subarray(from))
    this.bytes = Buffer.concat(pieces)
  }

  private addRegion(start: number, end: number, length: number): void {
    const before = this.regions.filter((region) => region.end < start)
    const touching = this.regions.filter((region) => region.end >= start && region.start <= end)
    const after = this.regions.filter((region) => region.start > end)
    const last = before.at(-1)
    const shift = last ? last.end - last.oldEnd : 0
    const [first, final] = [touching[0], touching.at(-1)]
    const grown = length - (end - start)
    this.regions = [
      ...before,
      {
        oldStart: first && first.start < start ? first.oldStart : start - shift,
        oldEnd: final ? (final.end > end ? final.oldEnd : end - (final.end - final.oldEnd)) : end - shift,
        start: Math.min(start, first?.start ?? start),
        end: Math.max(end, final?.end ?? end) + grown,
      },
      ...after.map((region) => ({ ...region, start: region.start + grown, end: region.end + grown })),
    ]
  }
}

/** Returns the 1-based number of the line that holds the byte at `offset`. */
export function findLineNumber(bytes: Buffer, offset: number): number {
  let line = 1
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) line++
  return line
}

/** Returns a function that finds line numbers for increasing offsets and counts each part of the text once. */
export function createLineCounter(bytes: Buffer): (offset: number) => number {
  let [line, from] = [1, 0]
  return (offset) => {
    line += findLineNumber(bytes.subarray(from, offset), offset - from) - 1
    from = offset
    return line
  }
}

/** Counts lines: the line ends, plus one if bytes follow the last. */
export function countLines(bytes: Buffer): number {
  const last = bytes.length > 0 && bytes[bytes.length - 1] !== 10 ? 1 : 0
  let lines = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++
  return lines + last
}
