import type { ExpectedPlace } from '../files/index.js'
import type { Place } from '../shapes/index.js'
import { isReserved } from './own_state.js'

/**
 * What one call named and where that led when the call was judged. What is used later has to lead there still: a link that was turned
 * meanwhile leads nowhere.
 */
export class JudgedPlaces {
  private readonly ways = new Map<string, string>()
  private readonly entries = new Map<string, string>()

  constructor(private readonly places: readonly Place[]) {
    for (const { given, resolved, entry } of places) {
      // A plugin goes on with what it was told of a path: that is no link, and must not become one.
      for (const asked of [resolved, entry, given]) this.entries.set(asked, asked === given ? entry : asked)
      for (const asked of [resolved, given]) this.ways.set(asked, resolved)
    }
  }

  /** What the judgement says of a path: of all of it, or of the folder in front of it that the call named. */
  expectPlace(path: string, follow: boolean): ExpectedPlace | undefined {
    const whole = (follow ? this.ways : this.entries).get(path)
    if (whole !== undefined) return { left: 0, at: whole }
    let left = 0
    for (let end = path.lastIndexOf('/'); end > 0; end = path.lastIndexOf('/', end - 1)) {
      left += 1
      const at = this.ways.get(path.slice(0, end))
      if (at !== undefined) return { left, at }
    }
    return undefined
  }

  /** Whether the call named this place, one above it or one below. */
  isRelated(place: string): boolean {
    return this.places.some(({ resolved, entry }) =>
      [resolved, entry].some((known) => isWithin(place, known) || isWithin(known, place)),
    )
  }

  /** Whether the call named this path itself, or a folder that it lies in; nothing is said of a call that named none. */
  isNamed(path: string): boolean | undefined {
    if (this.places.length === 0) return undefined
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
      if (this.entries.has(path.slice(0, end))) return true
    return this.entries.has('.') && !isReserved(path)
  }
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
