import { comparePaths, sortByPath } from '../../lib/base/index.js'
import type { KeptMatch } from './types.js'

/** Matches behind the end of a page that may wait to be put in order. */
const mostWaiting = 1_000

/** Counts all matches, and keeps those that a page may show. */
export class FoundMatches {
  total = 0
  private readonly counts = new Map<string, number>()
  private kept: KeptMatch[] = []
  /** Nothing behind it is shown. */
  private last: KeptMatch | undefined
  /** The file of the match before: they come file by file. */
  private file: string | undefined
  private isBehind = false

  constructor(
    /** Matches up to the end of the page. */
    private readonly end: number,
  ) {}

  add(match: KeptMatch): void {
    const { file } = match
    this.total++
    this.counts.set(file, (this.counts.get(file) ?? 0) + 1)
    if (file !== this.file) {
      this.file = file
      this.isBehind = this.last !== undefined && comparePaths(file, this.last.file) > 0
    }
    if (this.isBehind || (file === this.last?.file && match.start >= this.last.start)) return
    if (this.kept.push(match) >= this.end + mostWaiting) this.settle()
  }

  /** The matches up to the end of the page, in the order of their paths and places. */
  first(): KeptMatch[] {
    this.settle()
    return this.kept
  }

  /** The files with matches, in path order. */
  files(): { file: string; count: number }[] {
    return sortByPath(this.counts, ([file]) => file).map(([file, count]) => ({ file, count }))
  }

  private settle(): void {
    this.kept = this.kept.sort(inOrder).slice(0, this.end)
    if (this.kept.length === this.end) this.last = this.kept.at(-1)
    this.file = undefined
  }
}

/** Of two that begin at one place the one that came first stays the first. */
const inOrder = (a: KeptMatch, b: KeptMatch): number => comparePaths(a.file, b.file) || a.start - b.start
