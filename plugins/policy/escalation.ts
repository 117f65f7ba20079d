import type { Policy } from '../../core/index.js'

/** Nobody leaves the sandbox by saying so: the user is told why and asked. */
const escalation: Policy = ({ input }) => {
  if (input.sandbox_permissions !== 'require_escalated') return undefined
  return {
    ask: `The command wants to run outside the sandbox: ${String(input.justification)}`,
    asks: ['The command wants to run outside the sandbox.', `the model says: ${String(input.justification)}`],
    hint: 'Run it without sandbox_permissions, or have the user agree.',
  }
}
export default escalation
