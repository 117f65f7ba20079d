import { randomUUID } from 'node:crypto'
import { join, relative } from 'node:path'
import { definedOnly } from '../../../core/shapes/index.js'
import {
  problem,
  VtError,
  type Call,
  type Context,
  type Handle,
  type Launch,
  type Notice,
} from '../../../core/index.js'
import { createSlotError } from '../../lib/base/index.js'
import { confinement, strictly, wantsStrict } from '../../lib/process/index.js'
import { isolatedGitEnv } from '../../lib/git/index.js'
import { isGitInspection } from '../../lib/rules/index.js'
import { confineCommand, findObstacle, findSandbox, prepareConfinement } from '../../lib/sandbox/index.js'
import { ownPlaces } from '../../lib/state/index.js'
import { asideOf } from './aside.js'
import { checkpointBefore } from './checkpoint.js'
import { configuredVariables, commandEnvironment } from './environment.js'
import { commandParts, notFound, programOf, type Command } from './launch.js'
import { startPipe } from './pipe.js'
import { CommandSession, type SessionFacts } from './session.js'
import { sessionsOf } from './sessions.js'
import type { Exit, OutputSink, Size, Transport } from './transport.js'

/** What a caller wants to have run. */
export interface WantedRun extends Command {
  /** How the answer names it, where that is not what runs. */
  shown?: string
  workdir: string
  env?: Record<string, string>
  session_id?: string
  limit: SessionFacts['limit']
  background?: boolean
  /** A terminal of this size instead of pipes. */
  tty?: Size
  /** `empty`, the text to be read before the end of file, or `open` for writing later. */
  stdin: 'empty' | 'open' | { text: string }
  /** Outside the sandbox: the user was asked. */
  escalated?: boolean
  /** Files of ours that it needs. */
  files?: string
  /** Whether it gets a private line on descriptor 3. */
  channel?: boolean
}

/**
 * Starts a command under the settings of the call. Throws VT_EXEC_NOT_FOUND, VT_EXEC_LIMIT, VT_EXEC_SESSION_EXISTS, VT_EXEC_PTY,
 * VT_EXEC_SANDBOX, VT_INPUT_INVALID, VT_INPUT_TOO_LARGE and those of a path.
 */
export async function startCommand(context: Context, call: Call, wanted: WantedRun): Promise<CommandSession> {
  const settings = context.settings.exec
  if (!settings.enabled) {
    throw problem('VT_POLICY_DENIED', {
      reason: 'Commands are switched off by `exec.enabled`.',
      way: 'Use the other tools.',
    })
  }
  const folder = await context.workspace.openDirectory(wanted.workdir)
  let session: CommandSession | undefined
  try {
    const mark = randomUUID()
    const known = {
      workspace: context.workspace.root,
      configured: await configuredVariables(context),
      tty: wanted.tty !== undefined,
      mark,
    }
    const looks = await isGitInspection(commandParts(wanted), context.workspace.root)
    const whole = commandEnvironment(wanted.env ?? {}, known)
    // What was judged is the repository that git finds by itself: no variable leads it to another.
    const env = looks
      ? { ...Object.fromEntries(Object.entries(whole).filter(([name]) => !name.startsWith('GIT_'))), ...isolatedGitEnv }
      : whole
    const program = programOf(wanted, folder, whole.PATH!, settings.shell)
    const { launch, ...where } = await executor(context, call, wanted, folder, { ...program, cwd: folder.ref, env })
    const { limit, background = false } = wanted
    return (session = await sessionsOf(context).add(wanted.session_id, settings.max_sessions, (id) => {
      const command = wanted.shown ?? commandParts(wanted)
      const facts: SessionFacts = { id, command, cwd: folder.path, ...where, background, tty: wanted.tty, mark, limit }
      return CommandSession.start(facts, context, (sink) => connect(launch, wanted, sink))
    }))
  } catch (error) {
    throw startProblem(error, wanted)
  } finally {
    // A terminal's program steps into its folder on its own time.
    if (session && wanted.tty) void session.ended.then(() => folder.close())
    else await folder.close()
  }
}

interface Executor extends Pick<SessionFacts, 'sandbox' | 'network' | 'endInside' | 'tidy' | 'checkpoint'> {
  launch: Launch
}

/** Chooses where the program runs. A sandbox that is required and does not hold is an error, never a silent run without it. */
async function executor(
  context: Context,
  call: Call,
  wanted: WantedRun,
  folder: Handle,
  launch: Launch,
): Promise<Executor> {
  const { mode, caller } = call
  const { mode: usual, ...usually } = context.settings.sandbox
  const strict = wantsStrict(call, usual) && context.sandbox !== 'usual'
  const settings = strict ? strictly(usually) : usually
  const outside = { launch, sandbox: 'none', network: true } as const
  if (wanted.escalated && caller.sandbox === 'strict')
    throw createSlotError('VT_EXEC_SANDBOX', 'Here nothing runs outside the sandbox, whoever agrees.')
  const use = confinement(usual, caller.sandbox, wanted.escalated ?? false)
  if (use === 'off') return outside
  const found = await findSandbox(context.workspace.root)
  if ('missing' in found) {
    if (use === 'auto' && context.sandbox !== 'strict') return outside
    throw createSlotError('VT_EXEC_SANDBOX', `The sandbox that is required cannot be used: ${found.missing}.`)
  }
  const { root, home } = context.workspace
  const own = await ownPlaces(context)
  const shown = [...(wanted.files === undefined ? [] : [wanted.files]), ...own.map((path) => join(root, path))]
  const where = await prepareConfinement({
    workspace: root,
    own: home,
    writable: mode !== 'plan',
    cwd: join(root, folder.resolved),
    shown,
    settings,
    ...(strict && { strict }),
  })
  requireHeld(where, root)
  const before = strict ? await checkpointBefore(context, call.id) : undefined
  const inside = confineCommand(found.tools, launch, where)
  const aside = where.steering && asideOf(context, where.steering)
  const tidy = async (exit?: Exit) => [...((await aside?.(exit)) ?? []), ...(await changesAfter(before, exit))]
  return {
    launch: inside,
    sandbox: 'bwrap',
    network: settings.network,
    endInside: inside.readEnd,
    tidy,
    ...definedOnly({ checkpoint: before?.checkpoint }),
  }
}

type Before = Awaited<ReturnType<typeof checkpointBefore>> | undefined

async function changesAfter(before: Before, exit: Exit | undefined): Promise<Notice[]> {
  return (exit && (await before?.after().catch(() => []))) ?? []
}

/** Throws where the sandbox cannot keep a place of the workspace unchanged. */
function requireHeld(where: Parameters<typeof findObstacle>[0], root: string): void {
  const unheld = findObstacle(where)
  if (unheld === undefined) return
  const path = relative(root, unheld.path) || '.'
  throw createSlotError('VT_EXEC_SANDBOX', `The sandbox cannot keep '${path}' as it is: ${unheld.why}.`, {
    hint:
      'Nothing was run. Put what it leads to in its place. ' +
      'To ask the user, give {field:sandbox_permissions}: require_escalated and a justification.',
  })
}

async function connect(
  launch: Launch,
  { tty, stdin, channel = false }: WantedRun,
  sink: OutputSink,
): Promise<Transport> {
  if (!tty) {
    const transport = await startPipe(launch, { stdin: stdin !== 'empty', channel }, sink)
    feed(transport, stdin)
    return transport
  }
  const { startTerminal } = await import('./pty.js')
  try {
    const transport = startTerminal(launch, tty, sink)
    feed(transport, stdin)
    return transport
  } catch (error) {
    throw createSlotError(
      'VT_EXEC_PTY',
      `This machine has no terminal to give: ${(error as Error).message.split('\n')[0]}.`,
    )
  }
}

function feed(transport: Transport, stdin: WantedRun['stdin']): void {
  if (typeof stdin === 'string') return
  transport.write(Buffer.from(stdin.text))
  transport.end()
}

/** The system's reason not to start a program, in the words of the slot. */
function startProblem(error: unknown, { command, args }: WantedRun): unknown {
  const { code, syscall = '', path } = error as NodeJS.ErrnoException
  if (error instanceof VtError || typeof code !== 'string') return error
  if (code === 'E2BIG')
    return problem('VT_INPUT_TOO_LARGE', { size: 'longer than the system allows', limit: 'one argument below 128 KiB' })
  if (['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(code)) {
    return createSlotError('VT_EXEC_LIMIT', `The system starts no more programs now (${code}).`, { retryable: true })
  }
  const name = String([command, args ?? []].flat()[0])
  if (syscall.startsWith('spawn') && ['ENOENT', 'EACCES'].includes(code)) return notFound(name)
  return problem(
    'VT_FILE_IO',
    { path: (path ?? name).slice(0, 200), reason: `the system refuses it (${code})` },
    {
      hint: 'Nothing was run. A script may name, in its first line, what is no program.',
      retryable: false,
      details: { errno: code },
    },
  )
}
