/** One piece of a text that was replaced: where it was, and where what stands for it is now. Offsets in bytes. */
export interface Region {
  oldStart: number
  oldEnd: number
  start: number
  end: number
}

/** A text under change: the bytes as they are now, and which pieces of the first text they differ in. */
export class Changes {
  private regions: Region[] = []
  constructor(
    readonly before: Buffer,
    public bytes: Buffer = before,
  ) {}

  /** The pieces that differ, in order; never two that touch. */
  get all(): readonly Region[] {
    return this.regions
  }

  /** Replaces spans of the present bytes, in order and not overlapping, in one copy. */
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

/** The 1-based number of the line that the byte at `offset` belongs to. */
export function findLineNumber(bytes: Buffer, offset: number): number {
  let line = 1
  for (let at = bytes.indexOf(10); at !== -1 && at < offset; at = bytes.indexOf(10, at + 1)) line++
  return line
}

/** Numbers of the lines at offsets that only grow: each part of the text is counted once. */
export function createLineCounter(bytes: Buffer): (offset: number) => number {
  let [line, from] = [1, 0]
  return (offset) => {
    line += findLineNumber(bytes.subarray(from, offset), offset - from) - 1
    from = offset
    return line
  }
}

/** How many lines a text has: its line ends, and one more if bytes follow the last. */
export function countLines(bytes: Buffer): number {
  const last = bytes.length > 0 && bytes[bytes.length - 1] !== 10 ? 1 : 0
  let lines = 0
  for (let at = bytes.indexOf(10); at !== -1; at = bytes.indexOf(10, at + 1)) lines++
  return lines + last
}
