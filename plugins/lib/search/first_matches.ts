import { byPath } from '../base/index.js'
import type { ReadPositions } from './ripgrep_events.js'

export interface Counted {
  file: string
  /** Matching lines; matches, where one may span several lines. */
  count: number
  /** Where they are, if that was asked for and they are few. As the engine told of the name: believe it when the opened file holds them. */
  places?: ReadPositions[] | undefined
}

/** More matches than this are not noted with their places. */
const mostNoted = 20_000

/** Files with matches as they come, in no order, and of those that are the first in path order where their matches are. */
export class FirstMatches {
  readonly files: Counted[] = []
  private noted: Counted[] = []
  private left: number
  /** No file behind this one is among the first. */
  private last: string | undefined

  constructor(private readonly wanted: number) {
    this.left = wanted > mostNoted ? -1 : 2 * wanted
  }

  mayHold(file: string): boolean {
    return this.left >= 0 && (this.last === undefined || byPath(file, this.last) <= 0)
  }

  add(file: Counted, count: number): void {
    file.count = count
    this.files.push(file)
    if (!file.places?.length) return void (file.places = undefined)
    this.noted.push(file)
    this.left -= file.places.length
    if (this.left < 0) this.forget()
  }

  /** Lets go of the places in files behind those that hold what is wanted. */
  private forget(): void {
    this.noted.sort((a, b) => byPath(a.file, b.file))
    let matches = 0
    const end = this.noted.findIndex(({ places }) => (matches += places!.length) >= this.wanted) + 1
    if (end > 0) {
      for (const file of this.noted.splice(end)) file.places = undefined
      this.last = this.noted.at(-1)!.file
    }
    this.left = 2 * this.wanted - this.noted.reduce((sum, { places }) => sum + places!.length, 0)
  }
}
