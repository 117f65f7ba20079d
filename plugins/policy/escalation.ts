import type { Policy } from '../../core/index.js'

/** Asks the user before a command runs outside the sandbox. */
const checkEscalation: Policy = ({ input }) => {
  if (input.sandbox_permissions !== 'require_escalated') return undefined
  return {
    ask: `The command wants to run outside the sandbox: ${String(input.justification)}`,
    asks: ['The command wants to run outside the sandbox.', `the model says: ${String(input.justification)}`],
    hint: 'Run it without sandbox_permissions, or ask the user to approve.',
  }
}
export default checkEscalation
