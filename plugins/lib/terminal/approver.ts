import { truncateLine } from '../../../core/text/index.js'
import type { Approval, ApprovalAnswer, Io } from '../../../core/contract/index.js'
import { askAlone, readLine } from './terminal.js'

/** Asks the person at the terminal to approve a call, and for which scope if the approval can be remembered. */
export const createApprover =
  (terminal: Io) =>
  (request: Approval): Promise<ApprovalAnswer> =>
    askAlone(terminal, (io) => askApproval(io, request))

async function askApproval(io: Io, { question, covers }: Approval): Promise<ApprovalAnswer> {
  if (covers !== undefined) io.stderr.write(`s = for this session, a = always: ${truncateLine(covers, 400)}\n`)
  io.stderr.write(`${question}\n`)
  const answer = await readLine(
    io,
    covers === undefined ? 'Do it, or why not? [y/N] ' : 'Do it, or why not? [y/N/s/a] ',
  )
  const word = answer.toLowerCase()
  const scope = covers === undefined ? undefined : SCOPES.get(word)
  if (scope !== undefined) return { decision: 'allow', scope }
  return DECISIONS.get(word) ?? { decision: 'deny', followup: answer }
}

const DECISIONS = new Map([
  ['y', true],
  ['yes', true],
  ['n', false],
  ['no', false],
  ['', false],
])
const SCOPES = new Map<string, 'session' | 'always'>([
  ['s', 'session'],
  ['session', 'session'],
  ['a', 'always'],
  ['always', 'always'],
])
