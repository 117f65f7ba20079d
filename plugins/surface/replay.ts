import { InvalidArgumentError, Option } from 'commander'
import { openWorkspace, type Config, type Io, type Kernel, type Workspace } from '../../core/index.js'
import { addAssignment, toConfig } from './replay/assignments.js'
import { replayTools } from './replay/live_tools.js'
import {
  createApprover,
  createVerb,
  formatColumns,
  formatDocument,
  isInteractive,
  runCommand,
  say,
} from '../lib/terminal/index.js'

type Agent = typeof import('../agent/cli/index.js')
type Recording = import('../agent/cli/index.js').Recording
type SessionReplay = import('../agent/cli/index.js').SessionReplay
interface ReplayFlags {
  all?: true
  json?: true
  junit?: string
  tools: 'recorded' | 'live'
  accept?: ('prompt' | 'tools')[]
  from?: number
  with?: Map<string, string>
}
interface ReplayContext {
  kernel: Kernel
  agent: Agent
  workspace: Workspace
  io: Io
}

/** Runs `vtcode replay`: builds the requests of recorded sessions again and compares them, or forks a session. */
export default async function replay(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb(
    'replay',
    'Build every request of a recorded session again and compare it; the model and the tools answer from the journal.',
    io,
  )
    .argument('[session]', 'a session id, or the path of a journal or its folder; default: your last session')
    .option('--all', 'replay all sessions of this workspace')
    .option('--json', 'print the results as JSON')
    .option('--junit <file>', 'also write a JUnit XML report to this file of the workspace')
    .addOption(
      new Option('--tools <how>', 'live makes the calls again on a copy of the workspace, and compares their results')
        .choices(['recorded', 'live'])
        .default('recorded'),
    )
    .addOption(
      new Option('--accept <part>', 'do not compare this part: prompt or tools; may be given twice')
        .argParser((part: string, all: string[] = []) => {
          if (part !== 'prompt' && part !== 'tools') throw new InvalidArgumentError('use prompt or tools.')
          return [...all, part]
        })
        .conflicts('from'),
    )
    .addOption(
      new Option('--from <turn>', 'fork before this turn and run its input again with the changes of --with')
        .argParser(parseTurn)
        .conflicts(['all', 'junit']),
    )
    .option('--with <change>', 'model=<id>, prompt=<text> or <setting>=<value>; may be repeated', addAssignment)
    .action(async (named: string | undefined, flags: ReplayFlags) => {
      const fault = findFlagFault(named, flags)
      if (fault === undefined) code = await runReplay(kernel, named, flags, io)
      else {
        say(io, 'error', fault)
        code = 2
      }
    })
  return runCommand(command, argv, () => code)
}

function parseTurn(text: string): number {
  if (!/^[1-9]\d{0,6}$/.test(text)) throw new InvalidArgumentError('pass the number of a turn, from 1.')
  return Number(text)
}

function findFlagFault(named: string | undefined, { all, from, with: changes }: ReplayFlags): string | undefined {
  if (all && named !== undefined) return '--all replays every session. Leave out the session, or --all.'
  if (changes && from === undefined) return '--with needs --from. Pass the turn to fork before, such as --from 2.'
  if (from !== undefined && named !== undefined && isPath(named))
    return '--from needs a session of this workspace. Pass its id; `vtcode sessions list` lists them.'
  return undefined
}

/** A name with a dot or a slash is a path; ids have neither. */
const isPath = (name: string): boolean => /[./]/.test(name)

async function runReplay(kernel: Kernel, named: string | undefined, flags: ReplayFlags, io: Io): Promise<number> {
  const agent = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const context = { kernel, agent, workspace, io }
  try {
    if (flags.from !== undefined) return await forkAndRun(context, named, flags.from, flags.with ?? new Map())
    const results = flags.all ? await replayAll(context, flags) : [await replayOne(context, named, flags)]
    if (flags.junit !== undefined) await writeJunit(context, flags.junit, results)
    print(context, results, flags)
    return results.some(({ result: { status } }) => status === 'different') || (!flags.all && !isEqual(results)) ? 1 : 0
  } catch (error) {
    return agent.printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

interface TimedReplay {
  result: SessionReplay
  seconds: number
}
const isEqual = (results: readonly TimedReplay[]): boolean => results.every(({ result }) => result.status === 'equal')

/** Replays the sessions of the user, the oldest first. One that cannot be read does not end the others. */
async function replayAll(context: ReplayContext, flags: ReplayFlags): Promise<TimedReplay[]> {
  const { agent, workspace, kernel, io } = context
  const replayer = createReplayer(context, flags)
  const results: TimedReplay[] = []
  for (const { session_id } of (await agent.listSessions(workspace)).reverse()) {
    io.signal.throwIfAborted()
    const began = performance.now()
    const result = await agent
      .openRecording(workspace, session_id)
      .then((recording) => (flags.tools === 'live' ? runTools(context, recording) : replayer.replay(recording)))
      .catch((error: unknown) => agent.toFailedReplay(session_id, error))
    results.push({ result, seconds: (performance.now() - began) / 1000 })
  }
  if (results.length === 0) say(io, 'info', `${kernel.workspace} has no sessions.`)
  return results
}

async function replayOne(context: ReplayContext, named: string | undefined, flags: ReplayFlags): Promise<TimedReplay> {
  const { agent, workspace } = context
  const began = performance.now()
  const recording =
    named !== undefined && isPath(named)
      ? await agent.openRecordingFile(workspace, named)
      : await agent.openRecording(workspace, await agent.resolveSessionId(workspace, named))
  const result =
    flags.tools === 'live' ? await runTools(context, recording) : await createReplayer(context, flags).replay(recording)
  return { result, seconds: (performance.now() - began) / 1000 }
}

const createReplayer = ({ agent, kernel, workspace, io }: ReplayContext, { accept = [] }: ReplayFlags) =>
  new agent.Replayer({ kernel, workspace, env: io.env, accepted: new Set(accept) })

const runTools = ({ agent, kernel, workspace, io }: ReplayContext, recording: Recording): Promise<SessionReplay> =>
  replayTools(agent, recording, {
    kernel,
    workspace,
    signal: io.signal,
    ...(isInteractive(io) && { approve: createApprover(io) }),
  })

function print({ agent, io }: ReplayContext, results: readonly TimedReplay[], { all, json }: ReplayFlags): void {
  const plain = results.map(({ result }) => result)
  if (json) {
    io.stdout.write(formatDocument(all ? plain : plain[0]))
    return
  }
  if (all && plain.length > 0)
    io.stdout.write(
      formatColumns([['session', 'status', 'turns', 'requests', 'first difference'], ...plain.map(agent.toReplayRow)]),
    )
  for (const result of plain) {
    if (!all) io.stdout.write(`${agent.formatReplay(result).join('\n')}\n`)
    for (const notice of result.notices) say(io, 'info', `${result.session_id}: ${notice}`)
  }
}

async function writeJunit(
  { agent, workspace }: ReplayContext,
  path: string,
  results: readonly TimedReplay[],
): Promise<void> {
  const cases = results.map(({ result, seconds }) => agent.toReplayCase(result, seconds))
  await agent.writePieces(workspace, path, [agent.formatJunit('vtcode replay', cases)])
}

/** Forks a session before a turn and runs the input of that turn with changes. */
async function forkAndRun(
  { kernel, agent, workspace, io }: ReplayContext,
  named: string | undefined,
  turn: number,
  changes: ReadonlyMap<string, string>,
): Promise<number> {
  const from = await agent.resolveSessionId(workspace, named)
  const config = toConfig(changes)
  const there = Object.keys(config).length > 0 ? await openWith(kernel, config) : kernel
  try {
    const { session_id, input } = await agent.forkBeforeTurn(workspace, from, turn)
    say(io, 'info', `${session_id} is a fork of ${from} before turn ${turn}. Files are those of now.`)
    const model = changes.get('model')
    const code = await agent.work(there, changes.get('prompt') ?? input, model === undefined ? {} : { model }, io, {
      verb: 'exec',
      surface: 'replay',
      resume: session_id,
    })
    say(io, 'info', `\`vtcode trace ${from} --compare ${session_id}\` shows both.`)
    return code
  } finally {
    if (there !== kernel) await there.close()
  }
}

const openWith = (kernel: Kernel, config: Config): Promise<Kernel> =>
  kernel.inspection.openSibling(kernel.workspace, { config })
