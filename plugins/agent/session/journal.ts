import { crc32 } from 'node:zlib'
import { withoutValues } from '../../../core/base/index.js'
import type { Fact, JournalRecord } from '../base/index.js'

/** The line of a record, with its number and checksum. Secrets of ours that got into it are not written. */
export function lineOf(fact: Fact, n: number, turn: number, ts: string): string {
  const body = withoutValues(JSON.stringify({ n, ts, turn, ...fact }))
  return `${body.slice(0, -1)},"crc":"${sum(body)}"}\n`
}

export interface Journal {
  records: JournalRecord[]
  /** Bytes of the whole lines that were read. */
  bytes: number
  /** The last line is incomplete; it counts as never written. */
  torn: boolean
  /** Number of a line that is damaged with good ones behind it, from 1. */
  damaged?: number
}

/** Reads a journal up to its first bad line. */
export function readJournal(text: string): Journal {
  const lines = text.split('\n')
  const rest = lines.pop()!
  const records: JournalRecord[] = []
  let bytes = 0
  for (const [index, line] of lines.entries()) {
    const record = parsed(line, index + 1)
    if (!record) return index === lines.length - 1 && rest === '' ? { records, bytes, torn: true } : { records, bytes, torn: false, damaged: index + 1 }
    records.push(record)
    bytes += Buffer.byteLength(line) + 1
  }
  return { records, bytes, torn: rest !== '' }
}

function parsed(line: string, n: number): JournalRecord | undefined {
  // Text of others may hold line separators of Unicode, which JSON leaves as they are.
  const match = /^(.*),"crc":"([0-9a-f]{8})"\}$/s.exec(line)
  if (!match || sum(`${match[1]}}`) !== match[2]) return undefined
  try {
    const record = JSON.parse(line) as JournalRecord
    return record.n === n ? record : undefined
  } catch {
    return undefined
  }
}

const sum = (text: string): string => crc32(text).toString(16).padStart(8, '0')
