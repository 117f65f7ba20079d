import { problem, type Place, type VtError } from '../shapes/index.js'
import { foldedNames, shownPath } from '../system/index.js'

/** Where a walk has to be when `left` names of its path are still before it. */
export interface Expected {
  readonly left: number
  readonly at: string
}

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
  expected(path: string, follow: boolean): Expected | undefined {
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
  knows(place: string): boolean {
    return this.places.some(({ resolved, entry }) =>
      [resolved, entry].some((known) => isWithin(place, known) || isWithin(known, place)),
    )
  }

  /** Whether the call named this path itself, or a folder that it lies in; nothing is said of a call that named none. */
  names(path: string): boolean | undefined {
    if (this.places.length === 0) return undefined
    for (let end = path.length; end > 0; end = path.lastIndexOf('/', end - 1))
      if (this.entries.has(path.slice(0, end))) return true
    return this.entries.has('.') && !isReserved(path)
  }
}

const isWithin = (path: string, folder: string): boolean => path === folder || path.startsWith(`${folder}/`)

/** Whether a path belongs to git or to this program, on whatever volume it lies. */
export function isReserved(path: string): boolean {
  const names = foldedNames(path)
  return names[0] === '.vtcode' || names.includes('.git')
}

/** The folders below `.vtcode/` in which only this program writes. */
export const ownFolders = ['aside', 'journal', 'history', 'tmp', 'spool', 'sessions', 'approvals', 'worktrees']
/** What only this program writes: never through a link, which a repository may bring. */
export const isOwnState = (path: string): boolean =>
  path.startsWith('.vtcode/') && ownFolders.includes(path.split('/')[1]!)

export const turned = (path: string): VtError =>
  problem(
    'VT_FILE_STALE',
    { path: shownPath(path) },
    {
      hint: 'It leads elsewhere than when the call was checked: a link or a folder on the way was changed. Look at it, then call again.',
    },
  )
