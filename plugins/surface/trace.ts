import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { InvalidArgumentError, Option } from 'commander'
import { openWorkspace, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { openInBrowser } from '../lib/net/index.js'
import { toOneLine, runCommand, say, createVerb } from '../lib/terminal/index.js'

type Agent = typeof import('../agent/cli/index.js')
interface TraceFlags {
  last?: true
  out?: string
  format: 'html' | 'text'
  full?: true
  turn?: number
  compare?: string
  open?: true
}

/** Runs `vtcode trace`: shows the events of a session as one page without requests, or as text. */
export default async function trace(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'trace',
    'Show the events of a session: one HTML page without requests, or an outline.',
    io,
  )
    .argument(
      '[session]',
      'a session id, or the path of a log, an ATIF trajectory or an exported folder; default: your last session',
    )
    .option('--last', 'show your last session (the default)')
    .option('--out <file>', 'write this file of the workspace; default: trace-<session>.html')
    .addOption(
      new Option('--format <format>', 'html writes a page, text prints an outline')
        .choices(['html', 'text'])
        .default('html'),
    )
    .option('--full', 'include whole texts of calls, not only the first 64 KiB')
    .option('--turn <n>', 'show only this turn', parseTurn)
    .option('--open', 'open the page in the browser')
    .option('--compare <session>', 'show a second session next to it, from the first call that differs')
    .action(
      async (named: string | undefined, flags: TraceFlags) => void (code = await showTrace(kernel, io, named, flags)),
    )
  return runCommand(command, argv, () => code)
}

function parseTurn(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('pass the number of a turn, from 1.')
  return Number(text)
}

async function showTrace(
  kernel: Kernel,
  io: Io,
  named: string | undefined,
  { out, format, full, turn, compare, open }: TraceFlags,
): Promise<number> {
  const agent = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = await agent.resolveSessionId(workspace, named)
    const run = await readRun(agent, workspace, id, io)
    if (format === 'text') {
      await agent.printPieces(io, toPieces(agent.formatOutline(run, { full: full ?? false })))
      return 0
    }
    const other = compare === undefined ? undefined : await readRun(agent, workspace, compare, io)
    const path = out ?? `trace-${run.head.session_id.replace(/[^\w-]/g, '_') || 'log'}.html`
    await agent.writePieces(
      workspace,
      path,
      agent.renderPage(run, {
        full: full ?? false,
        ...(turn !== undefined && { turn }),
        ...(other && { compare: other }),
      }),
    )
    io.stdout.write(`${toOneLine(path)}\n`)
    const file = pathToFileURL(join(kernel.workspace, workspace.normalize(path)))
    if (open && !openInBrowser(file.href, { env: io.env, workspace: kernel.workspace }))
      say(io, 'info', 'No browser found. Open the file yourself.')
    return 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

/** Reads a session or a file. A name with a dot or a slash is a path; ids have neither. */
async function readRun(agent: Agent, workspace: Workspace, name: string, io: Io): ReturnType<Agent['reduceLog']> {
  const isPath = /[./]/.test(name) || (!name.startsWith('ses_') && (await workspace.stat(name)) !== undefined)
  const { events, faults } = await (isPath
    ? agent.openRecordFile(workspace, name)
    : agent.openSessionRecords(workspace, name))
  const run = await agent.reduceLog(events)
  agent.reportFaults(io, faults)
  return run
}

async function* toPieces(text: string): AsyncGenerator<string> {
  yield text
}
