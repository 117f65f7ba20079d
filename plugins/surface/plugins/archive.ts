import { constants, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32, gunzipSync } from 'node:zlib'
import { fromBufferPromise, type Entry as ZipEntry, type ZipFile } from 'yauzl'
import { makeFolder } from '../../../core/system/index.js'
import { readTarEntries } from '../../lib/files/index.js'
import { UserError } from './user_error.js'

export const MAX_UNPACKED_BYTES = 256 * 1_048_576
const MAX_ENTRIES = 20_000
const MAX_RATIO = 100
/** The end record of an empty zip. */
const MIN_ARCHIVE_BYTES = 22

interface Entry {
  path: string
  folder: boolean
  executable: boolean
  bytes(): Buffer | Promise<Buffer>
}

/** Unpacks files and folders. Throws UserError for links, devices, paths outside the folder and duplicate names. */
export async function unpack(archive: Buffer, into: string): Promise<void> {
  if (archive.length < MIN_ARCHIVE_BYTES) throw new UserError('the archive is damaged')
  const accept = createEntryCheck(archive.length)
  const entries = isZip(archive)
    ? await readZip(archive, accept)
    : await readTar(isGzip(archive) ? gunzip(archive) : archive, accept)
  if (entries.length === 0) throw new UserError('the archive is empty')
  for (const { path, folder, executable, bytes } of entries) {
    if (path === '') continue
    const target = join(into, path)
    try {
      makeFolder(folder ? target : dirname(target))
      if (!folder) writeFileSync(target, await bytes(), { flag: 'wx', mode: executable ? 0o755 : 0o644 })
    } catch (error) {
      if (error instanceof UserError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new UserError(
        code === 'EEXIST' || code === 'ENOTDIR'
          ? `the archive contains '${path}' twice`
          : `'${path}' of the archive cannot be unpacked: ${(error as Error).message}`,
      )
    }
  }
}

/** Checks an entry before its content is unpacked. Returns its relative path, empty for the folder itself. */
type EntryCheck = (path: string, size: number, kind: 'file' | 'folder' | 'other') => string
function createEntryCheck(packed: number): EntryCheck {
  let [count, total] = [0, 0]
  return (path, size, kind) => {
    if (kind === 'other')
      throw new UserError(`'${path}' in the archive is a link or a device; only files and folders are unpacked`)
    count += 1
    total += size
    if (count > MAX_ENTRIES) throw new UserError(`the archive contains more than ${MAX_ENTRIES} entries`)
    if (total > MAX_UNPACKED_BYTES || total > Math.max(packed, 4096) * MAX_RATIO)
      throw new UserError(
        `the archive unpacks to more than ${total > MAX_UNPACKED_BYTES ? '256 MiB' : `${MAX_RATIO} times its size`}`,
      )
    return toSafePath(path)
  }
}

function toSafePath(path: string): string {
  if (/[\0\\]|^\/|^[A-Za-z]:/.test(path))
    throw new UserError(`the path '${path}' in the archive is not a relative path`)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new UserError(`the path '${path}' in the archive leads out of it`)
  return parts.join('/')
}

const isZip = (bytes: Buffer): boolean => bytes.readUInt32LE(0) === 0x04034b50 || bytes.readUInt32LE(0) === 0x06054b50
const isGzip = (bytes: Buffer): boolean => bytes.readUInt16BE(0) === 0x1f8b

function gunzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: MAX_UNPACKED_BYTES + MAX_ENTRIES * 1024 })
  } catch (error) {
    throw new UserError(`the archive cannot be unpacked: ${(error as Error).message}`)
  }
}

async function readTar(tar: Buffer, accept: EntryCheck): Promise<Entry[]> {
  const all: Entry[] = []
  try {
    await readTarEntries(tar, ({ path, type, mode, size, bytes }) => {
      const folder = type === 'Directory'
      const kind = folder ? 'folder' : ['File', 'OldFile', 'ContiguousFile'].includes(type) ? 'file' : 'other'
      all.push({ path: accept(path, folder ? 0 : size, kind), folder, executable: (mode & 0o111) !== 0, bytes })
    })
  } catch (error) {
    throw error instanceof UserError
      ? error
      : new UserError(`the archive is damaged, or it is not a tar archive: ${(error as Error).message}`)
  }
  return all
}

/** Reads the entries of a zip. Names are read as UTF-8, whatever the archive declares. */
async function readZip(bytes: Buffer, accept: EntryCheck): Promise<Entry[]> {
  const all: Entry[] = []
  try {
    const zip = await fromBufferPromise(bytes, { lazyEntries: true, decodeStrings: false })
    for await (const entry of zip.eachEntry()) {
      const path = entry.fileNameRaw.toString('utf8')
      if (entry.isEncrypted()) throw new UserError(`'${path}' in the archive is encrypted`)
      if (!entry.canDecodeFileData()) throw new UserError(`'${path}' in the archive uses an unsupported compression`)
      const mode = entry.externalFileAttributes >>> 16
      const type = mode & constants.S_IFMT
      const folder = path.endsWith('/') || type === constants.S_IFDIR
      const kind = folder ? 'folder' : type === 0 || type === constants.S_IFREG ? 'file' : 'other'
      all.push({
        path: accept(path, folder ? 0 : entry.uncompressedSize, kind),
        folder,
        executable: (mode & 0o111) !== 0,
        bytes: () => readContent(zip, entry, path),
      })
    }
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(`the archive is damaged: ${(error as Error).message}`)
  }
  return all
}

/** Reads the content of an entry. Throws UserError for a wrong checksum, which yauzl does not check. */
async function readContent(zip: ZipFile, entry: ZipEntry, path: string): Promise<Buffer> {
  let content: Buffer
  try {
    content = Buffer.concat(await (await zip.openReadStreamPromise(entry)).toArray())
  } catch (error) {
    throw new UserError(`'${path}' in the archive is damaged: ${(error as Error).message}`)
  }
  if (crc32(content) !== entry.crc32) throw new UserError(`'${path}' in the archive is damaged: its CRC is wrong`)
  return content
}
