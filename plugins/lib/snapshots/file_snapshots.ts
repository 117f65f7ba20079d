import { randomUUID } from 'node:crypto'
import type { Result } from '../../../core/shapes/index.js'
import type { EntryStat, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../base/index.js'
import { toHistoryFolder, recordChange, isSameVersion, type Step } from '../files/index.js'

const MAX_FILE_BYTES = 64 * 1024 * 1024

/** Change of a watched file. */
export interface WatchedChange {
  path: string
  kind: 'add' | 'delete' | 'update'
}

interface Watch {
  /** Number of watched paths. */
  watched: number
  /** Returns the changes after the command. `made`: files that the command reports as new. */
  compare(id: string, made?: readonly string[]): Promise<WatchedChange[]>
}
interface Copy {
  stat: EntryStat
  sha256: string
  /** File that holds the bytes, from position `at`. */
  file: string
  at: number
}
/** Many files in one, because each sync to disk costs milliseconds. */
interface Pack {
  file: string
  parts: Buffer[]
  bytes: number
  paths: string[]
}
const MAX_PACK_BYTES = 32 * 1024 * 1024
/** State of each path before a command; `undefined`: no file. */
type KnownCopies = ReadonlyMap<string, Copy | undefined>

/**
 * Finds changes that commands make to files which a session knows. Commands bypass our tools, so the files are copied
 * before a command and compared after it. A change becomes a normal checkpoint. One version of a file is copied once.
 */
export class FileSnapshots {
  private readonly copies = new Map<string, Copy>()
  private readonly folder: string
  /** Current content of `known.json`. */
  private writtenList = ''

  constructor(
    private readonly workspace: Workspace,
    private readonly session: string,
    /** Name of the observer, if a session has several. */
    who = '',
  ) {
    this.folder = `${toHistoryFolder(session)}/copies${who && `/${who}`}`
  }

  /** Copies the files among `paths`. */
  async copyFiles(paths: readonly string[]): Promise<Watch> {
    const known = new Map<string, Copy | undefined>()
    // A file that cannot be copied is not watched: the command would seem to have created it.
    let pack = this.newPack()
    for (const path of paths.filter(isWatched)) {
      await this.copyFile(path, pack).then(
        (copy) => known.set(path, copy),
        () => {},
      )
      if (pack.bytes < MAX_PACK_BYTES) continue
      await this.writePack(pack, known)
      pack = this.newPack()
    }
    await this.writePack(pack, known)
    await this.writeList(known).catch(() => {})
    return {
      watched: known.size,
      compare: (id, made = []) => {
        for (const path of made.filter(isWatched)) known.set(path, undefined)
        return this.compare(known, id)
      },
    }
  }

  /** Returns the changes of the last command of a killed process, as far as files were copied before it. */
  async recoverChanges(id: string): Promise<WatchedChange[]> {
    const text = await this.workspace.readText(this.listPath).catch(() => undefined)
    const list =
      text === undefined
        ? undefined
        : (this.workspace.seal.read('copies', this.folder, text) as { known: unknown } | undefined)
    return list === undefined ? [] : this.compare(parseKnown(JSON.stringify(list.known)), id)
  }

  private get listPath(): string {
    return `${this.folder}/known.json`
  }

  /** Writes the list of copies to disk, in case the process is killed before it compares. */
  private async writeList(known: KnownCopies): Promise<void> {
    const list: unknown = JSON.parse(
      JSON.stringify([...known], (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)),
    )
    const text = this.workspace.seal.write('copies', this.folder, { known: list })
    if (known.size === 0 || text === this.writtenList) return
    await this.workspace.write(this.listPath, Buffer.from(text), 'anything', { mode: 0o600 })
    this.writtenList = text
  }

  /** Removes the copies; checkpoints have their own. */
  async close(): Promise<void> {
    if (this.writtenList !== '') await this.workspace.remove(this.folder, { recursive: true }).catch(() => {})
  }

  /**
   * Returns a copy of a file; `undefined` if the path does not exist. Throws for a file that is too large, and for
   * anything else.
   */
  private async copyFile(path: string, pack: Pack): Promise<Copy | undefined> {
    const stat = await this.workspace.stat(path)
    if (!stat) return undefined
    if (stat.kind !== 'file' || stat.bytes > MAX_FILE_BYTES) throw new Error(`'${path}' cannot be copied`)
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

  /** Writes a pack; its files are not watched if that fails. */
  private async writePack({ file, parts, paths }: Pack, known: Map<string, Copy | undefined>): Promise<void> {
    if (paths.length === 0) return
    await this.workspace.write(file, Buffer.concat(parts), 'nothing', { mode: 0o600 }).catch(() => {
      for (const path of paths) [known, this.copies].forEach((map) => map.delete(path))
    })
  }

  /** Writes the bytes of a copy to a file of their own. */
  private async extractCopy({ file, at, stat, sha256 }: Copy): Promise<string> {
    const own = `${this.folder}/${sha256}`
    const bytes = await this.workspace.read(file, { offset: at, length: stat.bytes })
    await this.workspace.write(own, bytes, 'anything', { mode: 0o600 })
    return own
  }

  /** Returns the stat of a file; `undefined` for a link or a folder in its place. */
  private async statFile(path: string): Promise<EntryStat | undefined> {
    const found = await this.workspace.stat(path).catch(() => undefined)
    return found?.kind === 'file' ? found : undefined
  }

  private async compare(known: KnownCopies, id: string): Promise<WatchedChange[]> {
    const steps: Step[] = []
    const kept: string[] = []
    const changes: WatchedChange[] = []
    for (const [path, copy] of known) {
      const stat = await this.statFile(path)
      if (isUnchanged(copy, stat)) continue
      const before = copy && { sha256: copy.sha256, mode: copy.stat.mode & 0o7777, bytes: copy.stat.bytes }
      if (!stat) steps.push({ op: 'remove', path, before: before! })
      else {
        const after = await this.workspace.read(path).then(contentHash, () => undefined)
        if (after === undefined || (after === copy?.sha256 && stat.mode === copy.stat.mode)) continue
        steps.push({ op: 'write', path, ...(before && { before }), after, made: [] })
      }
      kept.push(copy ? await this.extractCopy(copy) : '')
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

function parseKnown(text: string): KnownCopies {
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

/** Returns the changes of a call: from its own checkpoint if it has one, otherwise by comparison. */
export async function findChanges(watch: Watch, id: string, result: Result): Promise<WatchedChange[]> {
  const own = result.ok ? (result.output['checkpoint'] as { changed: WatchedChange[] } | undefined) : undefined
  // A change counts even if its checkpoint fails; the call does not fail.
  return own?.changed ?? watch.compare(id).catch(() => [])
}

const isWatched = (path: string): boolean =>
  !/^(\/|\.\.?$|\.\.\/|\.vtcode(\/|$))/.test(path) && !path.split('/').includes('.git')
