import { Option } from 'commander'
import { shortLine } from '../../core/text/index.js'
import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import type { PendingApproval } from '../agent/cli/index.js'
import { formatColumns, formatDocument, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** `vtcode approvals`: answers for runs where nobody sits, `agent.harness.async_approval`. */
export default async function approvals(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const { readApproval, listApprovals, writeApproval } = await import('../agent/cli/index.js')
  let code = 0
  const withWorkspace = async (what: (workspace: Workspace) => Promise<void>) => {
    const workspace = openWorkspace(kernel.workspace, kernel.inspection)
    try {
      await what(workspace)
    } finally {
      workspace.close()
    }
  }
  const answer = (token: string, value: NonNullable<PendingApproval['answer']>) =>
    withWorkspace(async (workspace) => {
      const refuse = (why: string) => {
        say(io, 'error', why)
        code = 1
      }
      // A command of an agent is no person.
      if (io.env['VTCODE'] === '1') return refuse('An agent cannot answer for a person.')
      const waiting = await readApproval(workspace, token)
      if (!waiting)
        return refuse(`Nothing is pending under '${toOneLine(token)}'; \`vtcode approvals list\` shows what is.`)
      if (Date.parse(waiting.expires_at) < Date.now()) return refuse('The time of this question is over.')
      if (value.scope === 'session' && waiting.covers === undefined)
        return refuse('A yes to this call can only be given once.')
      await writeApproval(workspace, { ...waiting, answer: value })
    })
  const command = createVerb('approvals', 'Lists the calls that wait for somebody, and answers them.', io)
  command
    .command('list', { isDefault: true })
    .option('--json')
    .action(({ json }: { json?: true }) =>
      withWorkspace(async (workspace) => {
        const all = await listApprovals(workspace)
        if (json) io.stdout.write(formatDocument(all))
        else io.stdout.write(all.length === 0 ? 'Nothing is pending.\n' : all.map(formatApproval).join(''))
      }),
    )
  command
    .command('approve <token>')
    .addOption(
      new Option('--scope <scope>', 'how long the approval lasts').choices(['once', 'session']).default('once'),
    )
    .action((token: string, { scope }: { scope: 'once' | 'session' }) => answer(token, { decision: 'allow', scope }))
  command
    .command('reject <token>')
    .option('--message <text>', 'what the model reads')
    .action((token: string, { message }: { message?: string }) =>
      answer(token, { decision: 'deny', ...(message !== undefined && { followup: message }) }),
    )
  return runCommand(command, argv, () => code)
}

/** A row, and below it the question as everybody is asked it. */
function formatApproval(one: PendingApproval): string {
  const lines = (one.question ?? JSON.stringify(one.input)).split('\n')
  return (
    formatColumns([[one.token, describeStatus(one), one.tool, shortLine(one.reason, 400)]]) +
    lines.map((line) => `    ${shortLine(line, 4000)}\n`).join('')
  )
}

function describeStatus({ answer, expires_at }: PendingApproval): string {
  if (answer) return answer.decision === 'allow' ? 'approved' : 'rejected'
  return Date.parse(expires_at) < Date.now() ? 'expired' : `until ${expires_at}`
}
