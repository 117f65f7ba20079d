import { basename, dirname, resolve } from 'node:path'
import { openWorkspace, VtError, type CallOptions, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { isInside } from '../../core/system/index.js'
import {
  createApprover,
  formatColumns,
  confirm,
  isInteractive,
  toOneLine,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'

type Agent = typeof import('../agent/cli/index.js')
const MAX_BYTES = 1024 * 1024
interface CertificateContext {
  certificate: import('../agent/cli/index.js').Certificate
  workspace: Workspace
  /** True for each command that was shown exactly, as one that is asked about. */
  shown: readonly boolean[]
}

/** Runs `vtcode verify`: shows a certificate, judges its commands and runs them again on request. */
export default async function verify(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'verify',
    'Show a certificate, ask, run its commands again and list the differences. It detects damage, not the author.',
    io,
  )
    .argument('<certificate>', 'the file; a relative path starts in the workspace')
    .action(async (file: string) => {
      code = await verifyCertificate(kernel, file, io)
    })
  return runCommand(command, argv, () => code)
}

async function verifyCertificate(kernel: Kernel, file: string, io: Io): Promise<number> {
  const agent = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const certificate = await agent.readCertificate(await readNamedFile(kernel, workspace, file))
    const { session_id, created_at, model } = certificate
    io.stdout.write(
      `${toOneLine(`Session ${session_id}, ${created_at}, ${model ?? 'no model'}: ${certificate.result}`)}\n`,
    )
    if (!(await isLocalSession(workspace, session_id)))
      say(
        io,
        'warning',
        `This workspace has no session ${toOneLine(session_id)}. The certificate is of another ` +
          'workspace, or the session was deleted.',
      )
    const verdicts = await Promise.all(
      certificate.commands.map(async ({ command }) => (await kernel.explain(agent.RUNNER_SLOT, { command })).verdict),
    )
    const rows = certificate.commands.map(({ command, exit_code }, index) =>
      [command, `exit ${exit_code ?? '-'}`, verdicts[index]!].map(toOneLine),
    )
    const shown = certificate.commands.map(
      ({ command }, index) => verdicts[index] === 'ask' && toOneLine(command) === command,
    )
    if (rows.length > 0) io.stdout.write(formatColumns(rows))
    return await compareRun(kernel, agent, { certificate, workspace, shown }, io)
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') return agent.printFailure(kernel, error, io)
    say(io, 'error', `${error.problem.message}\n  \`vtcode sessions show <id> --certificate\` prints one.`)
    return 1
  } finally {
    workspace.close()
  }
}

/**
 * Returns the approver of a command. The answer to the list covers what the list shows: a command of several lines, or
 * with a new verdict, has a question of its own.
 */
const chooseApprover = (isShown: boolean, io: Io): NonNullable<CallOptions['approve']> =>
  isShown ? () => true : createApprover(io)

/** Reads the file that a person names; it may lie outside of the workspace. */
async function readNamedFile(kernel: Kernel, workspace: Workspace, file: string): Promise<string> {
  const path = resolve(kernel.workspace, file)
  if (isInside(kernel.workspace, path)) return workspace.readText(file, { max_bytes: MAX_BYTES })
  const folder = openWorkspace(dirname(path), kernel.inspection)
  try {
    return await folder.readText(basename(path), { max_bytes: MAX_BYTES })
  } finally {
    folder.close()
  }
}

/** Checks whether this workspace has the session. An invalid id names no folder. */
const isLocalSession = async (workspace: Workspace, id: string): Promise<boolean> =>
  /^ses_[\w-]{1,60}$/.test(id) &&
  (await workspace.stat(`.vtcode/sessions/${id}/messages.jsonl`).catch(() => undefined)) !== undefined

async function compareRun(
  kernel: Kernel,
  agent: Agent,
  { certificate, workspace, shown }: CertificateContext,
  io: Io,
): Promise<number> {
  const { commands, files } = certificate
  const ran: Parameters<Agent['listDifferences']>[1]['ran'][number][] = []
  const skipped: string[] = []
  const { timeout_secs } = agent.resolveAgentSettings(kernel).harness.verification
  const subject = commands.length === 1 ? 'this command' : `these ${commands.length} commands`
  const question = `Run ${subject} in ${kernel.workspace}?`
  const wanted = commands.length > 0 && isInteractive(io) && (await confirm(io, question))
  for (const [index, { command }] of commands.entries()) {
    const began = Date.now()
    const result = wanted
      ? await kernel.call(
          agent.RUNNER_SLOT,
          { command, timeout_secs },
          { signal: io.signal, surface: 'verify', approve: chooseApprover(shown[index] === true, io) },
        )
      : undefined
    if (!result || (!result.ok && result.error.code.startsWith('VT_POLICY_'))) skipped.push(command)
    else ran.push(await agent.createProof(command, result, Date.now() - began, workspace))
  }
  const different = agent.listDifferences(certificate, {
    files: await agent.hashFiles(
      workspace,
      files.map(({ path }) => path),
    ),
    ran,
  })
  const lines = [...different.map((one) => `different: ${one}`), ...skipped.map((one) => `not run: ${one}`)]
  io.stdout.write(lines.map((line) => `${toOneLine(line)}\n`).join(''))
  if (skipped.length > 0 && !isInteractive(io))
    say(io, 'info', 'No command ran: `vtcode verify` asks at a terminal first.')
  if (different.length === 0)
    io.stdout.write(`${files.length} files and ${ran.length} of ${commands.length} commands are unchanged.\n`)
  return different.length === 0 && skipped.length === 0 && certificate.result === 'passed' ? 0 : 1
}
