import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { sha256 } from '../../../core/system/index.js'
import { openWorkspace, type OpenWorkspace } from '../../../core/workspace/index.js'
import { findGitFolder } from '../git/index.js'
import { isSameState } from './restore.js'
import { scanState, type CoveredRoot, type ScannedEntry } from './scan_state.js'
import { StateLog } from './state_log.js'
import type { EntryState, IndexEntry, Uncovered } from './types.js'

const MAX_FILE_BYTES = 64 * 1024 * 1024
/** Contents and entries of one line of the log. */
const BATCH = { bytes: 32 * 1024 * 1024, entries: 5000 }
/** A file that changed so recently may change again without another time, so it is read again. */
const RACY_MS = 30

type Note = (path: string, before: EntryState | null, after: EntryState | null) => void

/** The index of a workspace, and of its git folder where that lies elsewhere, with the contents of its files. */
export class StateIndex {
  readonly log: StateLog
  readonly #roots: CoveredRoot[]

  constructor(folder: string, root: string, home: string) {
    this.log = new StateLog(folder)
    this.#roots = [{ prefix: '', workspace: openWorkspace(root, { home }) }]
    const git = findGitFolder(root)
    const folders = git ? [...new Set([git.common, git.path])] : []
    for (const [index, path] of folders.entries()) {
      const isCovered = path.startsWith(`${root}/`) || folders.slice(0, index).some((one) => path.startsWith(`${one}/`))
      if (!isCovered && lstatSync(join(path, 'HEAD'), { throwIfNoEntry: false }))
        this.#roots.push({ prefix: `${path}/`, workspace: openWorkspace(path, { home, records: false }) })
    }
  }

  /** Lists what no checkpoint covers, the largest first. */
  listUncovered(): Uncovered[] {
    return listUncovered(this.log)
  }

  /** Returns the number of files in the index. */
  countFiles(): number {
    let count = 0
    for (const { state } of this.log.entries.values()) if (state.kind === 'file' || state.kind === 'link') count++
    return count
  }

  /** Returns the folder that a path of the index lies in, and the path inside. */
  locate(path: string): { workspace: OpenWorkspace; inside: string } {
    const root = this.#roots.findLast(({ prefix }) => path.startsWith(prefix))!
    return { workspace: root.workspace, inside: path.slice(root.prefix.length) }
  }

  /**
   * Makes the index equal to the disk and keeps new contents, up to `max_bytes` in all. Calls `note` with each
   * difference, also with those that other processes found.
   */
  async update(max_bytes: number, note: Note): Promise<void> {
    this.log.read((path, entry) => this.#compare(path, entry?.state ?? null, note))
    const { changed, removed, skipped } = await scanState(this.#roots, this.log.entries, this.log.skipped)
    const isLeftOut = (path: string): boolean => skipped.some((one) => path.startsWith(`${one.path}/`))
    for (const path of removed) if (!isLeftOut(path)) this.#compare(path, null, note)
    let batch = new Batch()
    batch.entries.push(...removed.map((path): [string, null] => [path, null]))
    const flush = (): void => {
      if (batch.entries.length > 0 || skipped.length !== this.log.skipped.length)
        this.log.append(batch.packed, {
          entries: batch.entries,
          ...(skipped.length !== this.log.skipped.length && { skipped }),
        })
      batch = new Batch()
    }
    for (const one of changed) {
      const entry = await this.#readEntry(one, batch, max_bytes)
      if (!entry || this.#isKnownRacy(one.path, entry)) continue
      this.#compare(one.path, entry.state, note)
      batch.entries.push([one.path, entry])
      if (batch.bytes > BATCH.bytes || batch.entries.length > BATCH.entries) flush()
    }
    flush()
  }

  /** Returns whether an entry that is read at each scan has not changed: such entries are not written again. */
  #isKnownRacy(path: string, { state, stamp }: IndexEntry): boolean {
    const known = this.log.entries.get(path)
    return stamp[2] === 0 && known?.stamp[2] === 0 && isSameState(known.state, state)
  }

  #compare(path: string, after: EntryState | null, note: Note): void {
    const before = this.log.entries.get(path)?.state ?? null
    if (!isSameState(before, after)) note(path, before, after)
  }

  /** Reads the state of an entry. A file that changes while it is read gets a stamp that no scan accepts. */
  async #readEntry(
    { root, inside, stamp, kind }: ScannedEntry,
    batch: Batch,
    max_bytes: number,
  ): Promise<IndexEntry | undefined> {
    const mode = stamp[4] & 0o7777
    try {
      if (kind === 'link') return { state: { kind, target: root.workspace.readLink(inside) }, stamp }
      if (kind === 'directory') return { state: { kind, mode }, stamp }
      if (kind === 'special') return { state: { kind }, stamp }
    } catch {
      return undefined
    }
    const unkept: IndexEntry = { state: { kind, mode, bytes: stamp[0] }, stamp }
    if (stamp[0] > MAX_FILE_BYTES || this.log.pack_bytes + batch.bytes + stamp[0] > max_bytes) return unkept
    const began = Date.now()
    const bytes = await root.workspace.read(inside).catch(() => undefined)
    if (!bytes) return unkept
    const hash = sha256(bytes)
    if (!this.log.contents.has(hash)) batch.add(hash, bytes)
    const after = await root.workspace.stat(inside).catch(() => undefined)
    const isStable =
      after?.bytes === bytes.length &&
      stamp[2] < began - RACY_MS &&
      Math.abs(Number(after.mtime_ns) / 1e6 - stamp[1]) < 0.01
    const state: EntryState = { kind, mode, bytes: bytes.length, sha256: hash }
    return { state, stamp: isStable ? stamp : [stamp[0], stamp[1], 0, stamp[3], stamp[4]] }
  }

  close(): void {
    for (const { workspace } of this.#roots) workspace.close()
  }
}

/** Contents and entries that are written together. */
class Batch {
  readonly packed = new Map<string, Buffer>()
  readonly entries: [string, IndexEntry | null][] = []
  bytes = 0
  add(hash: string, bytes: Buffer): void {
    if (this.packed.has(hash)) return
    this.packed.set(hash, bytes)
    this.bytes += bytes.length
  }
}

/** Lists what no checkpoint covers, the largest first. */
export function listUncovered({ skipped, entries }: StateLog): Uncovered[] {
  const found = [...skipped]
  for (const [path, { state }] of entries) {
    if (state.kind === 'file' && state.sha256 === undefined)
      found.push({
        path,
        bytes: state.bytes,
        reason: state.bytes > MAX_FILE_BYTES ? 'larger than 64 MB' : 'not kept',
      })
    if (state.kind === 'special') found.push({ path, bytes: 0, reason: 'neither file, folder nor link' })
  }
  return found.sort((a, b) => b.bytes - a.bytes)
}

/** Returns the folder of a workspace's store in the user's home. `root` is a real path. */
export const toStoreFolder = (root: string, home: string): string =>
  join(home, 'checkpoints', sha256(root).slice(0, 20))
