import { truncateLine } from '../../../core/text/index.js'
import type { Approval, ApprovalAnswer, Io } from '../../../core/contract/index.js'
import { askAlone, frameText, readLine } from './terminal.js'

/** Asks the person at the terminal to approve a call, and for which scope if the approval can be remembered. */
export const createApprover =
  (terminal: Io) =>
  (request: Approval): Promise<ApprovalAnswer> =>
    askAlone(terminal, (io) => askApproval(io, request))

async function askApproval(io: Io, { question, covers }: Approval): Promise<ApprovalAnswer> {
  const { columns = 80 } = (io.screen ?? io.stderr) as Partial<NodeJS.WriteStream>
  const scopes =
    covers === undefined ? [] : [`session or always, as a whole word, also allows: ${truncateLine(covers, 400)}`]
  const intro = frameText([...scopes, question].join('\n'), columns, '  | ', '')
  const answer = await readLine(
    io,
    covers === undefined ? 'Do it, or why not? [y/N] ' : 'Do it, or why not? [y/N/session/always] ',
    `${intro}\n`,
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
/** Answers that last are whole words, so that a slip of a key gives none. */
const SCOPES = new Map<string, 'session' | 'always'>([
  ['session', 'session'],
  ['always', 'always'],
])
