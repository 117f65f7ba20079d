import { randomUUID } from 'node:crypto'
import type { Result } from '../../../core/shapes/index.js'
import type { EntryStat, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'
import { toHistoryFolder, recordChange, isSameVersion, type Step } from '../files/index.js'

const largest = 64 * 1024 * 1024

/** What became of a file that was watched. */
export interface WatchedChange {
  path: string
  kind: 'add' | 'delete' | 'update'
}

interface Watch {
  /** How many paths are watched. */
  watched: number
  /** After the command: the changes, which it may be told of files that were not there before. */
  compare(id: string, made?: readonly string[]): Promise<WatchedChange[]>
}
interface Copy {
  stat: EntryStat
  sha256: string
  /** Where the bytes are kept: in this file, from here on. */
  file: string
  at: number
}
/** Many files written as one: each sync to disk costs milliseconds. */
interface Pack {
  file: string
  parts: Buffer[]
  bytes: number
  paths: string[]
}
const fullPack = 32 * 1024 * 1024
/** What was at each path before a command; `undefined` is nothing. */
type Known = ReadonlyMap<string, Copy | undefined>

/**
 * What commands do to the files that a session knows: no tool of ours writes there, so the files are copied before a command and
 * compared after it. What changed becomes a checkpoint like any other. One version of a file is copied once.
 */
export class FileSnapshots {
  private readonly copies = new Map<string, Copy>()
  private readonly folder: string
  /** What `known.json` holds. */
  private noted = ''

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
    /** Who looks, where several do in one session. */
    who = '',
  ) {
    this.folder = `${toHistoryFolder(session)}/copies${who && `/${who}`}`
  }

  /** Copies those of `paths` that are files. */
  async before(paths: readonly string[]): Promise<Watch> {
    const known = new Map<string, Copy | undefined>()
    // What cannot be copied is not watched: it would look as if the command had made it.
    let pack = this.newPack()
    for (const path of paths.filter(isWatched)) {
      await this.copy(path, pack).then(
        (copy) => known.set(path, copy),
        () => {},
      )
      if (pack.bytes < fullPack) continue
      await this.put(pack, known)
      pack = this.newPack()
    }
    await this.put(pack, known)
    await this.note(known).catch(() => {})
    return {
      watched: known.size,
      compare: (id, made = []) => {
        for (const path of made.filter(isWatched)) known.set(path, undefined)
        return this.compare(known, id)
      },
    }
  }

  /** What the last command of a killed process changed, as far as files were copied before it. */
  async afterwards(id: string): Promise<WatchedChange[]> {
    const text = await this.workspace.readText(this.list).catch(() => undefined)
    const list =
      text === undefined
        ? undefined
        : (this.workspace.seal.read('copies', this.folder, text) as { known: unknown } | undefined)
    return list === undefined ? [] : this.compare(knownIn(JSON.stringify(list.known)), id)
  }

  private get list(): string {
    return `${this.folder}/known.json`
  }

  /** Writes the list of copies to disk, for a process that is killed before it compares. */
  private async note(known: Known): Promise<void> {
    const list: unknown = JSON.parse(
      JSON.stringify([...known], (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
    const text = this.workspace.seal.write('copies', this.folder, { known: list })
    if (known.size === 0 || text === this.noted) return
    await this.workspace.write(this.list, Buffer.from(text), 'anything', { mode: 0o600 })
    this.noted = text
  }

  /** Removes the copies; checkpoints have names of their own for what they keep. */
  async close(): Promise<void> {
    if (this.noted !== '') await this.workspace.remove(this.folder, { recursive: true }).catch(() => {})
  }

  /** A copy of the file at a path, `undefined` where nothing is. Throws for what is no file or too large. */
  private async copy(path: string, pack: Pack): Promise<Copy | undefined> {
    const stat = await this.workspace.stat(path)
    if (!stat) return undefined
    if (stat.kind !== 'file' || stat.bytes > largest) throw new Error(`${path} cannot be copied`)
    const known = this.copies.get(path)
    if (known && isSameVersion(known.stat, stat)) return { ...known, stat }
    const bytes = await this.workspace.read(path)
    const copy = { stat, sha256: contentHash(bytes), file: pack.file, at: pack.bytes }
    pack.parts.push(bytes)
    pack.bytes += bytes.length
    pack.paths.push(path)
    this.copies.set(path, copy)
    return copy
  }

  private newPack(): Pack {
    return { file: `${this.folder}/${randomUUID()}`, parts: [], bytes: 0, paths: [] }
  }

  /** What cannot be written is not watched. */
  private async put({ file, parts, paths }: Pack, known: Map<string, Copy | undefined>): Promise<void> {
    if (paths.length === 0) return
    await this.workspace.write(file, Buffer.concat(parts), 'nothing', { mode: 0o600 }).catch(() => {
      for (const path of paths) [known, this.copies].forEach((map) => map.delete(path))
    })
  }

  /** The bytes of a copy as a file of their own. */
  private async apart({ file, at, stat, sha256 }: Copy): Promise<string> {
    const own = `${this.folder}/${sha256}`
    const bytes = await this.workspace.read(file, { offset: at, length: stat.bytes })
    await this.workspace.write(own, bytes, 'anything', { mode: 0o600 })
    return own
  }

  /** A link or a folder in the place of a file: that file is gone. */
  private async fileAt(path: string): Promise<EntryStat | undefined> {
    const found = await this.workspace.stat(path).catch(() => undefined)
    return found?.kind === 'file' ? found : undefined
  }

  private async compare(known: Known, id: string): Promise<WatchedChange[]> {
    const steps: Step[] = []
    const kept: string[] = []
    const changes: WatchedChange[] = []
    for (const [path, copy] of known) {
      const stat = await this.fileAt(path)
      if (isUnchanged(copy, stat)) continue
      const before = copy && { sha256: copy.sha256, mode: copy.stat.mode & 0o7777, bytes: copy.stat.bytes }
      if (!stat) steps.push({ op: 'remove', path, before: before! })
      else {
        const after = await this.workspace.read(path).then(contentHash, () => undefined)
        if (after === undefined || (after === copy?.sha256 && stat.mode === copy.stat.mode)) continue
        steps.push({ op: 'write', path, ...(before && { before }), after, made: [] })
      }
      kept.push(copy ? await this.apart(copy) : '')
      changes.push({ path, kind: !stat ? 'delete' : copy ? 'update' : 'add' })
    }
    if (steps.length > 0)
      await recordChange(
        { slot: 'unified_exec/run', id },
        { workspace: this.workspace, session: { id: this.session } },
        steps,
        async () => {},
        kept,
      )
    return changes
  }
}

const isUnchanged = (copy: Copy | undefined, stat: EntryStat | undefined): boolean =>
  copy && stat ? isSameVersion(stat, copy.stat) && stat.mode === copy.stat.mode : !copy && !stat

function knownIn(text: string): Known {
  const numbers = new Set(['mtime_ns', 'dev', 'ino'])
  try {
    const all = JSON.parse(text, (key, value: unknown) => (numbers.has(key) ? BigInt(value as string) : value)) as [
      string,
      Copy | null,
    ][]
    return new Map(all.map(([path, copy]) => [path, copy ?? undefined]))
  } catch {
    return new Map()
  }
}

/** What a call changed: by its own word where it kept a checkpoint itself, else by comparing. */
export async function changesSince(watch: Watch, id: string, result: Result): Promise<WatchedChange[]> {
  const own = result.ok ? (result.output['checkpoint'] as { changed: WatchedChange[] } | undefined) : undefined
  // A change whose checkpoint fails is a change all the same; the call does not fail for it.
  return own?.changed ?? watch.compare(id).catch(() => [])
}

const isWatched = (path: string): boolean =>
  !/^(\/|\.\.?$|\.\.\/|\.vtcode(\/|$))/.test(path) && !path.split('/').includes('.git')
