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

/** `vtcode trace`: what happened in a session, as one page without a request, or as text. */
export default async function trace(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'trace',
    'Shows what happened in a session: one HTML page that asks for nothing, or an outline.',
    io,
  )
    .argument(
      '[session]',
      'its id, or the path of a log, an ATIF trajectory or an exported folder; default: your last session',
    )
    .option('--last', 'your last session (the default)')
    .option('--out <file>', 'a file of the workspace; default: trace-<session>.html')
    .addOption(
      new Option('--format <format>', 'html is a page, text is printed').choices(['html', 'text']).default('html'),
    )
    .option('--full', 'texts of calls whole, not only their first 64 KiB')
    .option('--turn <n>', 'only this turn', parseTurn)
    .option('--open', 'open the page in the browser')
    .option('--compare <session>', 'a second session beside it, at the first call that differs')
    .action(
      async (named: string | undefined, flags: TraceFlags) => void (code = await showTrace(kernel, io, named, flags)),
    )
  return runCommand(command, argv, () => code)
}

function parseTurn(text: string): number {
  if (!/^\d{1,7}$/.test(text)) throw new InvalidArgumentError('a turn is a number from 1.')
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
    const id = await agent.sessionMeant(workspace, named)
    const run = await readRun(agent, workspace, id, io)
    if (format === 'text') {
      await agent.printPieces(io, toPieces(agent.outlineOf(run, { full: full ?? false })))
      return 0
    }
    const other = compare === undefined ? undefined : await readRun(agent, workspace, compare, io)
    const path = out ?? `trace-${run.head.session_id.replace(/[^\w-]/g, '_') || 'log'}.html`
    await agent.writePieces(
      workspace,
      path,
      agent.tracePage(run, {
        full: full ?? false,
        ...(turn !== undefined && { turn }),
        ...(other && { compare: other }),
      }),
    )
    io.stdout.write(`${toOneLine(path)}\n`)
    const file = pathToFileURL(join(kernel.workspace, workspace.normalize(path)))
    if (open && !openInBrowser(file.href, { env: io.env, workspace: kernel.workspace }))
      say(io, 'info', 'No browser was found; open the file yourself.')
    return 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

// What has a dot or a slash is a path: no id has.
async function readRun(agent: Agent, workspace: Workspace, name: string, io: Io): ReturnType<Agent['reduceLog']> {
  const isPath = /[./]/.test(name) || (!name.startsWith('ses_') && (await workspace.stat(name)) !== undefined)
  const { events, faults } = await (isPath
    ? agent.recordsInFile(workspace, name)
    : agent.recordsOfSession(workspace, name))
  const run = await agent.reduceLog(events)
  agent.tellFaults(io, faults)
  return run
}

async function* toPieces(text: string): AsyncGenerator<string> {
  yield text
}
