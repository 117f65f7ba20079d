import { comparePaths } from '../base/index.js'
import type { ReadPositions } from './ripgrep_events.js'

export interface CountedFile {
  file: string
  /** Matching lines; matches, where one may span several lines. */
  count: number
  /** Positions of the matches, if requested and few. Unverified: compare them with the opened file. */
  places?: ReadPositions[] | undefined
}

/** Positions are kept for at most this many matches. */
const MAX_NOTED = 20_000

/** Collects files with matches in any order, and the positions of matches for the first files in path order. */
export class FirstMatches {
  readonly files: CountedFile[] = []
  /** Matches in all files. */
  total = 0
  private noted: CountedFile[] = []
  private remaining: number
  /** Last of the first files in path order. */
  private last: string | undefined

  constructor(private readonly wanted: number) {
    this.remaining = wanted > MAX_NOTED ? -1 : 2 * wanted
  }

  canHold(file: string): boolean {
    return this.remaining >= 0 && (this.last === undefined || comparePaths(file, this.last) <= 0)
  }

  add(file: CountedFile, count: number): void {
    file.count = count
    this.files.push(file)
    this.total += count
    if (!file.places?.length) return void (file.places = undefined)
    this.noted.push(file)
    this.remaining -= file.places.length
    if (this.remaining < 0) this.dropLaterPlaces()
  }

  /** Drops the positions of files after those that hold the wanted matches. */
  private dropLaterPlaces(): void {
    this.noted.sort((a, b) => comparePaths(a.file, b.file))
    let matches = 0
    const end = this.noted.findIndex(({ places }) => (matches += places!.length) >= this.wanted) + 1
    if (end > 0) {
      for (const file of this.noted.splice(end)) file.places = undefined
      this.last = this.noted.at(-1)!.file
    }
    this.remaining = 2 * this.wanted - this.noted.reduce((sum, { places }) => sum + places!.length, 0)
  }
}
