import { crc32 } from 'node:zlib'
import { redactValues } from '../../../core/text/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { AgentError, type Fact, type JournalRecord, type Store } from '../base/index.js'
import { redactFact } from './redaction.js'

type Mark = Store['mark']

/** Creates the mark of this user for the files of a session. A repository and its authors cannot write this mark. */
export const createMark =
  ({ seal }: Workspace, session: string): Mark =>
  (text) =>
    seal.userMark('session', session, text)

/** Formats a record as a line with its numbers, the user's mark and a checksum. Secrets are redacted. */
export function formatRecord(fact: Fact, n: number, turn: number, ts: string, mark: Mark, lease?: number): string {
  const own = redactValues(JSON.stringify({ n, ts, turn, lease, ...redactFact(fact) }))
  const body = `${own.slice(0, -1)},"seal":"${mark(own)}"}`
  return `${body.slice(0, -1)},"crc":"${computeChecksum(body.slice(0, -1))}"}\n`
}

/**
 * Reads the journal of a session that is about to continue. Throws VT_SESSION_CORRUPT, and VT_SESSION_FOREIGN for a
 * line without a valid mark of this user.
 */
export function readOwnJournal(text: string, session: string, mark: Mark): Journal {
  const journal = readJournal(text)
  if (journal.damaged !== undefined) throw createDamageError(journal.damaged, session)
  const lines = text.split('\n')
  const foreign = journal.records.findIndex((_, index) => {
    const line = lines[index]!
    const from = line.length - endOf.crc - longestSeal
    const [end, seal] = /,"seal":"([0-9a-f]*)"$/.exec(line.slice(from < 0 ? 0 : from, -endOf.crc)) ?? []
    return end === undefined || seal !== mark(`${line.slice(0, -endOf.crc - end.length)}}`)
  })
  if (foreign >= 0) throw createForeignError(session, `line ${foreign + 1} of its journal`)
  return journal
}

export const createDamageError = (line: number, session: string): AgentError =>
  new AgentError('VT_SESSION_CORRUPT', `Line ${line} of the journal of session ${session} is damaged.`)

const createForeignError = (session: string, what: string): AgentError => {
  const hint =
    `Check it with \`vtcode sessions show ${session}\`; if you trust its author, \`vtcode sessions ` +
    `adopt ${session}\`, then go on.`
  return new AgentError(
    'VT_SESSION_FOREIGN',
    `The session '${session}' was changed by another user, or written by an older version: ${what} ` +
      'has no valid seal of yours.',
    { hint },
  )
}

/** Formats the same records with the mark of this user. */
export const resealRecords = (records: readonly JournalRecord[], mark: Mark): string =>
  records
    .map(({ n, ts, turn, lease, crc: _, seal: __, ...fact }) => formatRecord(fact, n, turn, ts, mark, lease))
    .join('')

export interface Journal {
  records: JournalRecord[]
  /** Bytes of the complete lines that were read. */
  bytes: number
  /** The last line is incomplete and counts as never written. */
  torn: boolean
  /** The number, 1-based, of a damaged line that good lines follow. */
  damaged?: number
}

/** Reads a journal up to its first damaged line. */
export function readJournal(text: string): Journal {
  const lines = text.split('\n')
  const rest = lines.pop()!
  const records: JournalRecord[] = []
  let bytes = 0
  for (const [index, line] of lines.entries()) {
    const record = parseRecord(line, index + 1)
    if (!record)
      return index === lines.length - 1 && rest === ''
        ? { records, bytes, torn: true }
        : { records, bytes, torn: false, damaged: index + 1 }
    records.push(record)
    bytes += Buffer.byteLength(line) + 1
  }
  return { records, bytes, torn: rest !== '' }
}

function parseRecord(line: string, n: number): JournalRecord | undefined {
  const [, checksum] = /^,"crc":"([0-9a-f]{8})"\}$/.exec(line.slice(-endOf.crc)) ?? []
  if (checksum === undefined || computeChecksum(line.slice(0, -endOf.crc)) !== checksum) return undefined
  try {
    const record = JSON.parse(line) as JournalRecord
    return record.n === n ? record : undefined
  } catch {
    return undefined
  }
}

/** Lengths of the end of a line: reading from the end is fast for long lines. */
const endOf = { crc: ',"crc":"00000000"}'.length }
const longestSeal = 256

/** Computes the checksum of a JSON object from its text without the last brace. */
const computeChecksum = (text: string): string => crc32('}', crc32(text)).toString(16).padStart(8, '0')
