import { writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { crc32, gunzipSync, inflateRawSync } from 'node:zlib'
import { makeFolder } from '../../../core/base/index.js'
import { tarEntries } from '../../lib/files/index.js'
import { UserError } from './user_error.js'

export const mostUnpackedBytes = 256 * 1_048_576
const mostEntries = 20_000
const mostRatio = 100

interface Entry {
  path: string
  folder: boolean
  executable: boolean
  bytes(): Buffer
}

/** Unpacks files and folders and refuses everything else: links, devices, paths that lead out, names that stand there twice. Throws Refusal. */
export async function unpack(archive: Buffer, into: string): Promise<void> {
  if (archive.length < 22) throw new UserError('the archive is damaged')
  const accept = gate(archive.length)
  const entries = isZip(archive) ? [...readZip(archive, accept)] : await readTar(isGzip(archive) ? gunzip(archive) : archive, accept)
  if (entries.length === 0) throw new UserError('the archive is empty')
  for (const { path, folder, executable, bytes } of entries) {
    if (path === '') continue
    const target = join(into, path)
    try {
      makeFolder(folder ? target : dirname(target))
      if (!folder) writeFileSync(target, bytes(), { flag: 'wx', mode: executable ? 0o755 : 0o644 })
    } catch (error) {
      if (error instanceof UserError) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new UserError(code === 'EEXIST' || code === 'ENOTDIR' ? `the archive holds '${path}' twice` : `'${path}' of the archive cannot be unpacked: ${(error as Error).message}`)
    }
  }
}

/** Looks at each entry before its content is unpacked, and answers with its path in our own folder: empty for the folder itself. */
type Accept = (path: string, size: number, kind: 'file' | 'folder' | 'other') => string
function gate(packed: number): Accept {
  let [count, total] = [0, 0]
  return (path, size, kind) => {
    if (kind === 'other') throw new UserError(`'${path}' in the archive is a link or a device; only files and folders are unpacked`)
    count += 1
    total += size
    if (count > mostEntries) throw new UserError(`the archive holds more than ${mostEntries} entries`)
    if (total > mostUnpackedBytes || total > Math.max(packed, 4096) * mostRatio) throw new UserError(`the archive swells to more than ${total > mostUnpackedBytes ? '256 MiB' : `${mostRatio} times its size`}`)
    return safePath(path)
  }
}

function safePath(path: string): string {
  if (/[\0\\]|^\/|^[A-Za-z]:/.test(path)) throw new UserError(`the archive names '${path}', which is no relative path`)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new UserError(`the archive names '${path}', which leads out of it`)
  return parts.join('/')
}

const isZip = (bytes: Buffer): boolean => bytes.readUInt32LE(0) === 0x04034b50 || bytes.readUInt32LE(0) === 0x06054b50
const isGzip = (bytes: Buffer): boolean => bytes.readUInt16BE(0) === 0x1f8b

function gunzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: mostUnpackedBytes + mostEntries * 1024 })
  } catch (error) {
    throw new UserError(`the archive cannot be unpacked: ${(error as Error).message}`)
  }
}

async function readTar(tar: Buffer, accept: Accept): Promise<Entry[]> {
  const all: Entry[] = []
  try {
    await tarEntries(tar, ({ path, type, mode, size, bytes }) => {
      const folder = type === 'Directory'
      const kind = folder ? 'folder' : ['File', 'OldFile', 'ContiguousFile'].includes(type) ? 'file' : 'other'
      all.push({ path: accept(path, folder ? 0 : size, kind), folder, executable: (mode & 0o111) !== 0, bytes })
    })
  } catch (error) {
    throw error instanceof UserError ? error : new UserError(`the archive is damaged, or no tar: ${(error as Error).message}`)
  }
  return all
}

/** The central directory is believed, as every program does; a local header only says where the bytes begin. */
function* readZip(zip: Buffer, accept: Accept): Generator<Entry> {
  const damaged = () => new UserError('the archive is damaged')
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > zip.length) throw damaged()
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== 0x02014b50) throw damaged()
    const [flags, method] = [zip.readUInt16LE(at + 8), zip.readUInt16LE(at + 10)]
    const [crc, packed, size] = [zip.readUInt32LE(at + 16), zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)]
    const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)]
    const [mode, local] = [zip.readUInt16LE(at + 40), zip.readUInt32LE(at + 42)]
    const path = zip.toString('utf8', at + 46, at + 46 + name)
    at += 46 + name + extra + comment
    if ((flags & 1) !== 0) throw new UserError(`'${path}' in the archive is encrypted`)
    const kind = mode & 0o170000
    const folder = path.endsWith('/') || kind === 0o040000
    const bytes = (): Buffer => {
      if (local + 30 > zip.length || zip.readUInt32LE(local) !== 0x04034b50) throw damaged()
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const content = zip.subarray(start, start + packed)
      if (method !== 0 && method !== 8) throw new UserError(`'${path}' in the archive is packed in a way that is not read`)
      const whole = method === 0 ? content : inflateRawSync(content, { maxOutputLength: size + 1 })
      if (whole.length !== size) throw damaged()
      if (crc32(whole) !== crc) throw new UserError(`'${path}' in the archive is damaged: its CRC is wrong`)
      return whole
    }
    const accepted = accept(path, folder ? 0 : size, folder ? 'folder' : kind === 0 || kind === 0o100000 ? 'file' : 'other')
    yield { path: accepted, folder, executable: (mode & 0o111) !== 0, bytes }
  }
}
