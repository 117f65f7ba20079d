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
 * The entries of an uncompressed tar, in order. `take` sees each of them before its content is read and may throw to end it.
 * Throws where a header's checksum is wrong, where the archive ends too early, or where it is no tar.
 */
export async function readTarEntries(tar: Buffer, take: (entry: TarEntry) => void): Promise<void> {
  // node-tar would unpack it a second time, past the limits of whoever unpacked it once.
  if (tar.length >= 2 && tar.readUInt16BE(0) === 0x1f8b) throw new Error('it is compressed twice')
  const { Parser } = await import('tar')
  const parser = new Parser({ strict: true, zstd: false, maxMetaEntrySize: 1_048_576 })
  let failure: Error | undefined
  const see = (entry: ReadEntry): void => {
    const content: Buffer[] = []
    const { path, type, mode = 0, size } = entry
    entry.on('data', (chunk: Buffer) => content.push(chunk))
    try {
      // A size may be said twice, and readers differ in what they make of one that is none.
      if (!Number.isSafeInteger(size) || size < 0) throw new Error(`the size of ${JSON.stringify(path)} is invalid`)
      if (!failure) take({ path, type, mode, size, bytes: () => Buffer.concat(content) })
    } catch (error) {
      failure = error as Error
    }
  }
  parser.on('error', (error: Error) => (failure ??= error))
  parser.on('entry', see)
  // A kind of entry that node-tar does not know is not left out in silence.
  parser.on('ignoredEntry', see)
  parser.end(tar)
  if (failure) throw failure
}
