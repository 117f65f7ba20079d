import { Option } from 'commander'
import { truncateLine } from '../../core/text/index.js'
import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import type { PendingApproval } from '../agent/cli/index.js'
import { formatColumns, formatDocument, toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'

/** `vtcode approvals`: answers approvals of unattended runs (`agent.harness.async_approval`). */
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
      // A command that an agent runs must not answer for the person.
      if (io.env['VTCODE'] === '1')
        return refuse('A command of an agent cannot answer an approval. Run it yourself in a terminal.')
      const waiting = await readApproval(workspace, token)
      if (!waiting) return refuse(`No pending approval '${toOneLine(token)}'. \`vtcode approvals list\` lists them.`)
      if (Date.parse(waiting.expires_at) < Date.now())
        return refuse(`The approval '${toOneLine(token)}' expired at ${waiting.expires_at}. Run the task again.`)
      if (value.scope === 'session' && waiting.covers === undefined)
        return refuse('This call can only be approved once. Leave --scope out.')
      await writeApproval(workspace, { ...waiting, answer: value })
    })
  const command = createVerb('approvals', 'List the calls that wait for approval, and answer them.', io)
  command
    .command('list', { isDefault: true })
    .option('--json')
    .action(({ json }: { json?: true }) =>
      withWorkspace(async (workspace) => {
        const all = await listApprovals(workspace)
        if (json) io.stdout.write(formatDocument(all))
        else io.stdout.write(all.length === 0 ? 'No approvals are pending.\n' : all.map(formatApproval).join(''))
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
    .option('--message <text>', 'reason for the model')
    .action((token: string, { message }: { message?: string }) =>
      answer(token, { decision: 'deny', ...(message !== undefined && { followup: message }) }),
    )
  return runCommand(command, argv, () => code)
}

/** Formats an approval: a row and, below it, the question. */
function formatApproval(one: PendingApproval): string {
  const lines = (one.question ?? JSON.stringify(one.input)).split('\n')
  return (
    formatColumns([[one.token, describeStatus(one), one.tool, truncateLine(one.reason, 400)]]) +
    lines.map((line) => `    ${truncateLine(line, 4000)}\n`).join('')
  )
}

function describeStatus({ answer, expires_at }: PendingApproval): string {
  if (answer) return answer.decision === 'allow' ? 'approved' : 'rejected'
  return Date.parse(expires_at) < Date.now() ? 'expired' : `until ${expires_at}`
}
