import type { EntryStat, Workspace } from '../../../core/workspace/index.js'
import { contentHash } from '../../lib/base/index.js'
import { historyOf, recorded, sameVersion, type Step } from '../../lib/files/index.js'
import type { FileChange } from '../base/index.js'

const largest = 64 * 1024 * 1024

interface Copy {
  stat: EntryStat
  sha256: string
  /** Where the bytes are kept. */
  file: string
}
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
  ) {
    this.folder = `${historyOf(session)}/copies`
  }

  /** Copies those of `paths` that are files; returns a function that, after the command, compares and returns the changes. */
  async before(paths: readonly string[]): Promise<(id: string) => Promise<FileChange[]>> {
    const known = new Map<string, Copy | undefined>()
    // What cannot be copied is not watched: it would look as if the command had made it.
    for (const path of paths.filter(isWatched)) await this.copy(path).then((copy) => known.set(path, copy), () => {})
    await this.note(known).catch(() => {})
    return (id) => this.compare(known, id)
  }

  /** What the last command of a killed process changed, as far as files were copied before it. */
  async afterwards(id: string): Promise<FileChange[]> {
    const text = await this.workspace.text(this.list).catch(() => undefined)
    const list = text === undefined ? undefined : (this.workspace.seal.read('copies', this.folder, text) as { known: unknown } | undefined)
    return list === undefined ? [] : this.compare(knownIn(JSON.stringify(list.known)), id)
  }

  private get list(): string {
    return `${this.folder}/known.json`
  }

  /** Writes the list of copies to disk, for a process that is killed before it compares. */
  private async note(known: Known): Promise<void> {
    const list: unknown = JSON.parse(JSON.stringify([...known], (_, value: unknown) => (typeof value === 'bigint' ? String(value) : value)))
    const text = this.workspace.seal.write('copies', this.folder, { known: list })
    if (known.size === 0 || text === this.noted) return
    await this.workspace.write(this.list, Buffer.from(text), 'anything', { mode: 0o600 })
    this.noted = text
  }

  /** The copies are of use while commands run; checkpoints have names of their own for what they keep. */
  async close(): Promise<void> {
    if (this.noted !== '') await this.workspace.remove(this.folder, { recursive: true }).catch(() => {})
  }

  /** A copy of the file at a path, `undefined` where nothing is. Throws for what is no file or too large. */
  private async copy(path: string): Promise<Copy | undefined> {
    const stat = await this.workspace.stat(path)
    if (!stat) return undefined
    if (stat.kind !== 'file' || stat.bytes > largest) throw new Error(`${path} cannot be copied`)
    const known = this.copies.get(path)
    if (known && sameVersion(known.stat, stat)) return { ...known, stat }
    const bytes = await this.workspace.read(path)
    const hash = contentHash(bytes)
    const file = `${this.folder}/${hash}`
    if (!(await this.workspace.stat(file))) await this.workspace.write(file, bytes, 'anything', { mode: 0o600 })
    const copy = { stat, sha256: hash, file }
    this.copies.set(path, copy)
    return copy
  }

  private async compare(known: Known, id: string): Promise<FileChange[]> {
    const steps: Step[] = []
    const kept: string[] = []
    const changes: FileChange[] = []
    for (const [path, copy] of known) {
      // A link or a folder in the place of a file: that file is gone.
      const stat = await this.workspace.stat(path).then((found) => (found?.kind === 'file' ? found : undefined), () => undefined)
      const same = copy ? stat !== undefined && sameVersion(stat, copy.stat) && stat.mode === copy.stat.mode : stat === undefined
      if (same) continue
      const before = copy && { sha256: copy.sha256, mode: copy.stat.mode & 0o7777, bytes: copy.stat.bytes }
      if (!stat) steps.push({ op: 'remove', path, before: before! })
      else {
        const after = await this.workspace.read(path).then(contentHash, () => undefined)
        if (after === undefined || (after === copy?.sha256 && stat.mode === copy.stat.mode)) continue
        steps.push({ op: 'write', path, ...(before && { before }), after, made: [] })
      }
      kept.push(copy?.file ?? '')
      changes.push({ path, kind: !stat ? 'delete' : copy ? 'update' : 'add' })
    }
    if (steps.length > 0) await recorded({ slot: 'unified_exec/run', id }, { workspace: this.workspace, session: { id: this.session } }, steps, async () => {}, kept)
    return changes
  }
}

function knownIn(text: string): Known {
  const numbers = new Set(['mtime_ns', 'dev', 'ino'])
  try {
    const all = JSON.parse(text, (key, value: unknown) => (numbers.has(key) ? BigInt(value as string) : value)) as [string, Copy | null][]
    return new Map(all.map(([path, copy]) => [path, copy ?? undefined]))
  } catch {
    return new Map()
  }
}

const isWatched = (path: string): boolean => !/^(\/|\.\.?$|\.\.\/|\.vtcode(\/|$))/.test(path) && !path.split('/').includes('.git')
