import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { gunzipSync, inflateRawSync } from 'node:zlib'
import { Refusal } from './refusal.js'

export const mostBytes = 256 * 1_048_576
const mostEntries = 20_000
const mostRatio = 100

interface Entry {
  path: string
  folder: boolean
  executable: boolean
  /** What it unpacks to, as the archive announces it. */
  size: number
  bytes(): Buffer
}

/** Unpacks files and folders and refuses everything else: links, devices, paths that lead out, names that stand there twice. Throws Refusal. */
export function unpack(archive: Buffer, into: string): void {
  if (archive.length < 22) throw new Refusal('the archive is damaged')
  const entries = checked(isZip(archive) ? zipEntries(archive) : tarEntries(isGzip(archive) ? gunzip(archive) : archive), archive.length)
  for (const { path: name, folder, executable, bytes } of entries) {
    const target = join(into, name)
    try {
      mkdirSync(folder ? target : dirname(target), { recursive: true })
      if (!folder) writeFileSync(target, bytes(), { flag: 'wx', mode: executable ? 0o755 : 0o644 })
    } catch (error) {
      if (error instanceof Refusal) throw error
      const { code } = error as NodeJS.ErrnoException
      throw new Refusal(code === 'EEXIST' || code === 'ENOTDIR' ? `the archive holds '${name}' twice` : `'${name}' of the archive cannot be unpacked: ${(error as Error).message}`)
    }
  }
}

/** What is wrong with any of them is known before the first is written. */
function checked(entries: Iterable<Entry>, packed: number): Entry[] {
  const all: Entry[] = []
  let total = 0
  for (const entry of entries) {
    total += entry.size
    all.push({ ...entry, path: safePath(entry.path) })
    if (all.length > mostEntries) throw new Refusal(`the archive holds more than ${mostEntries} entries`)
    if (total > mostBytes || total > Math.max(packed, 4096) * mostRatio) throw new Refusal(`the archive swells to more than ${total > mostBytes ? '256 MiB' : `${mostRatio} times its size`}`)
  }
  if (all.length === 0) throw new Refusal('the archive is empty')
  return all.filter(({ path }) => path !== '')
}

/** The path in our own folder; empty for the folder itself. */
function safePath(path: string): string {
  if (/[\0\\]|^\/|^[A-Za-z]:/.test(path)) throw new Refusal(`the archive names '${path}', which is no relative path`)
  const parts = path.split('/').filter((part) => part !== '' && part !== '.')
  if (parts.includes('..')) throw new Refusal(`the archive names '${path}', which leads out of it`)
  return parts.join('/')
}

const isZip = (bytes: Buffer): boolean => bytes.readUInt32LE(0) === 0x04034b50 || bytes.readUInt32LE(0) === 0x06054b50
const isGzip = (bytes: Buffer): boolean => bytes.readUInt16BE(0) === 0x1f8b

function gunzip(bytes: Buffer): Buffer {
  try {
    return gunzipSync(bytes, { maxOutputLength: mostBytes + mostEntries * 1024 })
  } catch (error) {
    throw new Refusal(`the archive cannot be unpacked: ${(error as Error).message}`)
  }
}

/** POSIX tar with the long names of pax and GNU. */
function* tarEntries(tar: Buffer): Generator<Entry> {
  let long: string | undefined
  let longSize: number | undefined
  for (let at = 0; at + 512 <= tar.length; ) {
    const header = tar.subarray(at, at + 512)
    if (header.every((byte) => byte === 0)) return
    const text = (from: number, to: number) => header.toString('utf8', from, to).replace(/\0.*$/s, '')
    if (Number.parseInt(text(148, 156), 8) !== checksum(header)) throw new Refusal('the archive is damaged, or no tar')
    const type = String.fromCharCode(header[156]!)
    const size = type !== 'x' && longSize !== undefined ? longSize : octal(header.subarray(124, 136))
    const start = at + 512
    if (start + size > tar.length) throw new Refusal('the archive ends too early')
    at = start + Math.ceil(size / 512) * 512
    const content = () => tar.subarray(start, start + size)
    if (type === 'g') continue
    if (type === 'L') {
      long = content().toString('utf8').replace(/\0.*$/s, '')
      continue
    }
    if (type === 'x') {
      const records = pax(content())
      long = records.get('path') ?? long
      longSize = records.has('size') ? Number(records.get('size')) : undefined
      continue
    }
    const prefix = text(257, 262) === 'ustar' ? text(345, 500) : ''
    const path = long ?? (prefix ? `${prefix}/${text(0, 100)}` : text(0, 100))
    long = longSize = undefined
    const folder = type === '5'
    if (!folder && !['0', '\0', '7'].includes(type)) throw new Refusal(`'${path}' in the archive is a link or a device; only files and folders are unpacked`)
    yield { path, folder, executable: (octal(header.subarray(100, 108)) & 0o111) !== 0, size: folder ? 0 : size, bytes: content }
  }
}

function octal(field: Buffer): number {
  const value = Number.parseInt(field.toString('latin1').replace(/\0.*$/s, '').trim() || '0', 8)
  if (!Number.isSafeInteger(value) || value < 0) throw new Refusal('the archive is damaged, or larger than can be read')
  return value
}

/** The sum of all bytes of a header, its own field counted as blanks. */
const checksum = (header: Buffer): number => header.reduce((sum, byte, at) => sum + (at >= 148 && at < 156 ? 32 : byte), 0)

/** `<length> <key>=<value>\n`, again and again. */
function pax(bytes: Buffer): Map<string, string> {
  const records = new Map<string, string>()
  for (let at = 0; at < bytes.length; ) {
    const length = Number.parseInt(bytes.toString('latin1', at, at + 20), 10)
    if (!(length > 0)) throw new Refusal('the archive is damaged')
    const [, key, value] = /^\d+ ([^=]*)=(.*)\n$/s.exec(bytes.toString('utf8', at, at + length)) ?? []
    if (key !== undefined) records.set(key, value!)
    at += length
  }
  return records
}

/** The central directory is believed, as every program does; a local header only says where the bytes begin. */
function* zipEntries(zip: Buffer): Generator<Entry> {
  const damaged = () => new Refusal('the archive is damaged')
  const end = zip.lastIndexOf(Buffer.from('PK\x05\x06', 'latin1'))
  if (end < 0 || end + 22 > zip.length) throw damaged()
  let at = zip.readUInt32LE(end + 16)
  for (let left = zip.readUInt16LE(end + 10); left > 0; left--) {
    if (at + 46 > zip.length || zip.readUInt32LE(at) !== 0x02014b50) throw damaged()
    const [flags, method] = [zip.readUInt16LE(at + 8), zip.readUInt16LE(at + 10)]
    const [packed, size] = [zip.readUInt32LE(at + 20), zip.readUInt32LE(at + 24)]
    const [name, extra, comment] = [zip.readUInt16LE(at + 28), zip.readUInt16LE(at + 30), zip.readUInt16LE(at + 32)]
    const [mode, local] = [zip.readUInt16LE(at + 40), zip.readUInt32LE(at + 42)]
    const path = zip.toString('utf8', at + 46, at + 46 + name)
    at += 46 + name + extra + comment
    if ((flags & 1) !== 0) throw new Refusal(`'${path}' in the archive is encrypted`)
    const kind = mode & 0o170000
    const folder = path.endsWith('/') || kind === 0o040000
    if (!folder && kind !== 0 && kind !== 0o100000) throw new Refusal(`'${path}' in the archive is a link or a device; only files and folders are unpacked`)
    const bytes = (): Buffer => {
      if (local + 30 > zip.length || zip.readUInt32LE(local) !== 0x04034b50) throw damaged()
      const start = local + 30 + zip.readUInt16LE(local + 26) + zip.readUInt16LE(local + 28)
      const content = zip.subarray(start, start + packed)
      if (method !== 0 && method !== 8) throw new Refusal(`'${path}' in the archive is packed in a way that is not read`)
      const whole = method === 0 ? content : inflateRawSync(content, { maxOutputLength: size + 1 })
      if (whole.length !== size) throw damaged()
      return whole
    }
    yield { path, folder, executable: (mode & 0o111) !== 0, size: folder ? 0 : size, bytes }
  }
}
