import type { EntryKind, Handle } from '../../../core/workspace/index.js'

export interface NamedEntry {
  name: string
  kind: EntryKind
}
/** Reason for which a walk leaves an entry out. */
export type Reason = 'ignored' | 'hidden'
export interface FoundEntry {
  path: string
  kind: EntryKind
  /** Set by a walk that marks what other walks leave out. */
  left_out?: Reason
}
/** Differences of one walk from others. */
export interface WalkTask {
  /** `marked`: also walks what is left out. `spelled`: only entries that a glob spells. */
  scope?: 'marked' | 'spelled'
  seconds?: number
}
export interface Entries {
  /** Each folder before its entries, names in code-unit order. */
  entries: FoundEntry[]
  /** Entries left out by ignore rules. */
  ignored: number
  hidden: number
  /** Names of folders that every walk leaves out unless they are named. */
  excluded: Set<string>
  /** Entries that only a glob kept in the walk, because it spells them. */
  spelled: string[]
  /** The walk stopped before its end. */
  incomplete: boolean
  complaints: string[]
}

/** A directory of a walk, opened through its parent at first use. */
export class Folder {
  constructor(
    readonly path: string,
    readonly resolved: string,
    private readonly open: () => Handle,
    private handle?: Handle,
  ) {}

  get held(): Handle {
    return (this.handle ??= this.open())
  }

  /** Returns the directory `name` in this one. */
  toChild(path: string, name: string): Folder {
    return new Folder(path, this.resolved === '.' ? name : `${this.resolved}/${name}`, () =>
      this.held.openDirectory(name),
    )
  }

  close(): void {
    void this.handle?.close()
  }
}

/** Wraps an open directory. */
export const toFolder = (handle: Handle): Folder => new Folder(handle.path, handle.resolved, () => handle, handle)
