import { comparePaths, sortByPath } from '../../lib/base/index.js'
import type { LazyMatch } from './types.js'

/** Unsorted matches kept beyond the end of a page. */
const MAX_WAITING = 1_000

/** Counts all matches and keeps those that a page may show. */
export class FoundMatches {
  total = 0
  private readonly counts = new Map<string, number>()
  private kept: LazyMatch[] = []
  /** Last match that is shown. */
  private last: LazyMatch | undefined
  /** File of the match before; matches arrive file by file. */
  private file: string | undefined
  private isPastEnd = false

  constructor(
    /** Matches up to the end of the page. */
    private readonly end: number,
  ) {}

  add(match: LazyMatch): void {
    const { file } = match
    this.total++
    this.counts.set(file, (this.counts.get(file) ?? 0) + 1)
    if (file !== this.file) {
      this.file = file
      this.isPastEnd = this.last !== undefined && comparePaths(file, this.last.file) > 0
    }
    if (this.isPastEnd || (file === this.last?.file && match.start >= this.last.start)) return
    if (this.kept.push(match) >= this.end + MAX_WAITING) this.trim()
  }

  /** Lists the matches up to the end of the page, in the order of paths and positions. */
  listFirst(): LazyMatch[] {
    this.trim()
    return this.kept
  }

  /** Lists the files with matches, in path order. */
  listFiles(): { file: string; count: number }[] {
    return sortByPath(this.counts, ([file]) => file).map(([file, count]) => ({ file, count }))
  }

  private trim(): void {
    this.kept = this.kept.sort(compareMatches).slice(0, this.end)
    if (this.kept.length === this.end) this.last = this.kept.at(-1)
    this.file = undefined
  }
}

/** Orders matches by path and position; the sort is stable. */
const compareMatches = (a: LazyMatch, b: LazyMatch): number => comparePaths(a.file, b.file) || a.start - b.start
