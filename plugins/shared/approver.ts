import type { Approval, Approved, Io } from '../../core/index.js'
import { line, oneLine, printable } from './terminal.js'

/** Asks the person at the terminal whether a call may be made, and for how long a yes is meant where it can be remembered. */
export const approver = (io: Io) => async ({ call, reasons, covers }: Approval): Promise<Approved> => {
  io.stderr.write(printable(`${call.slot} ${JSON.stringify(call.input, null, 2)}\n${reasons.map((reason) => `  ${reason}\n`).join('')}`))
  if (covers !== undefined) io.stderr.write(`  s = for this session, a = always: ${oneLine(covers)}\n`)
  const answer = await line(io, covers === undefined ? 'Do it? [y/N] ' : 'Do it? [y/N/s/a] ')
  const scope = covers === undefined ? undefined : scopes[answer]
  return scope === undefined ? /^y(es)?$/.test(answer) : { decision: 'allow', scope }
}

const scopes: Record<string, 'session' | 'always' | undefined> = { s: 'session', session: 'session', a: 'always', always: 'always' }
