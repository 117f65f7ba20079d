import { isUtf8 } from 'node:buffer'
import { encodeName } from '../../../core/system/index.js'
import type { Handle } from '../../../core/workspace/index.js'

export interface Counts {
  files: { file: string; count: number }[]
  /** Files that were looked into. */
  searched: number
  /** Bytes read of those files. */
  bytes: number
  /** The statistics were there. */
  whole: boolean
}

/** Parses `name NUL count` pairs and the statistics after them, which are missing where the run was stopped. */
export function parseCounts(output: Buffer, nameOf: NameReader): Counts {
  const files: Counts['files'] = []
  // UTF-8 names without escapes are decoded together; otherwise one character is one byte.
  const plain = isUtf8(output) && !output.includes('\\x')
  const text = output.toString(plain ? 'utf8' : 'latin1')
  let start = 0
  for (let nul = text.indexOf('\0'); nul >= 0; nul = text.indexOf('\0', start)) {
    const end = text.indexOf('\n', nul)
    if (end < 0) break
    const name = text.slice(start, nul)
    files.push({ file: nameOf(plain ? name : Buffer.from(name, 'latin1')), count: Number(text.slice(nul + 1, end)) })
    start = end + 1
  }
  const statistics = text.slice(start)
  const [, searched] = /^(\d+) files searched$/m.exec(statistics) ?? []
  const [, bytes = 0] = /^(\d+) bytes searched$/m.exec(statistics) ?? []
  return { files, searched: Number(searched ?? files.length), bytes: Number(bytes), whole: searched !== undefined }
}

/** Converts a name as ripgrep prints it to a workspace path. */
export type NameReader = (name: string | Buffer) => string

export function createNameReader(target: Handle): NameReader {
  if (target.kind === 'file') return () => target.path
  const prefix = target.path === '.' ? '' : `${target.path}/`
  return (name) => {
    const text = typeof name === 'string' ? name : encodeName(name)
    return prefix + (text.startsWith('./') ? text.slice(2) : text)
  }
}
