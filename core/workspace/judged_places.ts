import type { ExpectedPlace } from '../files/index.js'
import type { CallPath } from '../shapes/index.js'
import { isReserved } from './own_state.js'

/**
 * The paths that one call named and where they led when the call was judged. A path that leads elsewhere later is
 * refused, so that a changed link cannot redirect the call.
 */
export class JudgedPlaces {
  private readonly ways = new Map<string, string>()
  private readonly entries = new Map<string, string>()

  constructor(private readonly places: readonly CallPath[]) {
    for (const { given, resolved, entry } of places) {
      // A plugin continues with the resolved path. That path is no link and must not become one.
      for (const asked of [resolved, entry, given]) this.entries.set(asked, asked === given ? entry : asked)
      for (const asked of [resolved, given]) this.ways.set(asked, resolved)
    }
  }

  /** Returns where a path must lead: the whole path, or else its nearest folder that the call named. */
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

  /** Returns whether the call named this place, a folder above it or an entry below it. */
  isRelated(place: string): boolean {
    return this.places.some(({ resolved, entry }) =>
      [resolved, entry].some((known) => isWithin(place, known) || isWithin(known, place)),
    )
  }

  /** Returns whether the call named this path or a folder above it; `undefined` for a call that named no path. */
  isNamed(path: string): boolean | undefined {
    if (this.places.length === 0) return undefined
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
      if (this.entries.has(path.slice(0, end))) return true
    return this.entries.has('.') && !isReserved(path)
  }
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)
