import type { Io } from '../../../../core/index.js'
import { confirm, printable } from '../../terminal.js'
import type { Approve } from '../dictionary.js'

/** Asks the person at the terminal whether a call may be made. */
export const approver = (io: Io): Approve => ({ call, reasons }) => {
  io.stderr.write(printable(`${call.slot} ${JSON.stringify(call.input, null, 2)}\n${reasons.map((reason) => `  ${reason}\n`).join('')}`))
  return confirm(io, 'Do it?')
}
