import type { ReadEntry } from 'tar'

export interface TarEntry {
  path: string
  /** `File`, `Directory`, `SymbolicLink` …, as node-tar names them. */
  type: string
  mode: number
  size: number
  bytes(): Buffer
}

/**
 * Reads the entries of an uncompressed tar in order. `take` gets each entry before its content and may throw to stop.
 * Throws for a wrong checksum of a header, an early end, or data that is no tar.
 */
export async function readTarEntries(tar: Buffer, take: (entry: TarEntry) => void): Promise<void> {
  // node-tar would unpack the data a second time, without the limits of the caller.
  if (tar.length >= 2 && tar.readUInt16BE(0) === 0x1f8b) throw new Error('it is compressed twice')
  const { Parser } = await import('tar')
  const parser = new Parser({ strict: true, zstd: false, maxMetaEntrySize: 1_048_576 })
  let failure: Error | undefined
  const see = (entry: ReadEntry): void => {
    const content: Buffer[] = []
    const { path, type, mode = 0, size } = entry
    entry.on('data', (chunk: Buffer) => content.push(chunk))
    try {
      // A header may give two sizes, and readers treat an invalid one differently.
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`the size of ${JSON.stringify(path)} is invalid`)
      if (!failure) take({ path, type, mode, size, bytes: () => Buffer.concat(content) })
    } catch (error) {
      failure = error as Error
    }
  }
  parser.on('error', (error: Error) => (failure ??= error))
  parser.on('entry', see)
  // Entries of a kind unknown to node-tar are not skipped silently.
  parser.on('ignoredEntry', see)
  parser.end(tar)
  if (failure) throw failure
}
