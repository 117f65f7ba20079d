import { randomUUID } from 'node:crypto'
import { join, relative } from 'node:path'
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
import { resolveSandboxMode, toStrictSettings, isStrictRequested } from '../../lib/process/index.js'
import { isolatedGitEnv } from '../../lib/git/index.js'
import { changesNothing, isGitInspection } from '../../lib/rules/index.js'
import { confineCommand, findObstacle, findSandbox, prepareConfinement } from '../../lib/sandbox/index.js'
import { listOwnPaths } from '../../lib/state/index.js'
import { createTidy } from './tidy.js'
import { SessionCheckpoint } from '../checkpoint/session_checkpoint.js'
import { resolveConfiguredVariables, buildCommandEnvironment } from './environment.js'
import { toCommandParts, createNotFoundError, resolveProgram, type Command } from './launch.js'
import { startPipe } from './pipe.js'
import { CommandSession, type SessionFacts } from './session.js'
import { getSessions } from './sessions.js'
import type { Exit, OutputSink, Size, Transport } from './transport.js'

/** The command that a caller requests. */
export interface WantedRun extends Command {
  /** The name in the result, if it differs from the command. */
  shown?: string
  workdir: string
  env?: Record<string, string>
  session_id?: string
  limit: SessionFacts['limit']
  background?: boolean
  /** A terminal of this size instead of pipes. */
  tty?: Size
  /** Standard input: `empty`, a text followed by the end of file, or `open` for later writes. */
  stdin: 'empty' | 'open' | { text: string }
  /** Set when the user approved the run outside the sandbox. */
  escalated?: boolean
  /** Our files that it needs. */
  files?: string
  /** True if it gets a private pipe on descriptor 3. */
  channel?: boolean
}

/**
 * Starts a command under the settings of the call. Throws VT_EXEC_NOT_FOUND, VT_EXEC_LIMIT, VT_EXEC_SESSION_EXISTS,
 * VT_EXEC_PTY, VT_EXEC_SANDBOX, VT_INPUT_INVALID, VT_INPUT_TOO_LARGE and the errors of a path.
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
  let checkpoint: SessionCheckpoint | undefined
  try {
    const mark = randomUUID()
    const known = {
      env: context.host.env,
      configured: await resolveConfiguredVariables(context),
      tty: wanted.tty !== undefined,
      mark,
    }
    const looks = await isGitInspection(toCommandParts(wanted), context.workspace.root)
    const whole = buildCommandEnvironment(wanted.env ?? {}, known)
    // The policy judged the repository that git finds by itself, so no variable may name another.
    const env = looks
      ? { ...Object.fromEntries(Object.entries(whole).filter(([name]) => !name.startsWith('GIT_'))), ...isolatedGitEnv }
      : whole
    const program = resolveProgram(wanted, folder, whole.PATH!, settings.shell)
    const {
      launch,
      isUnasked = false,
      ...where
    } = await chooseExecutor(context, call, wanted, folder, {
      ...program,
      cwd: folder.ref,
      env,
    })
    const { limit, background = false } = wanted
    const cannotWrite =
      changesNothing(toCommandParts(wanted), looks) || (call.mode === 'plan' && where.sandbox === 'bwrap')
    const label = [wanted.shown ?? toCommandParts(wanted)].flat().join(' ')
    checkpoint = cannotWrite ? undefined : await SessionCheckpoint.begin(context, call, label, isUnasked)
    return (session = await getSessions(context).add(wanted.session_id, settings.max_sessions, (id) => {
      const command = wanted.shown ?? toCommandParts(wanted)
      const facts: SessionFacts = {
        id,
        command,
        cwd: folder.path,
        ...where,
        background,
        tty: wanted.tty,
        mark,
        limit,
        checkpoint,
        tidy: joinTidy(where.tidy, checkpoint),
      }
      return CommandSession.start(facts, context, (sink) => connect(launch, wanted, sink))
    }))
  } catch (error) {
    await checkpoint?.finish().catch(() => [])
    throw toStartError(error, wanted)
  } finally {
    // A program in a terminal enters its folder later.
    if (session && wanted.tty) void session.ended.then(() => folder.close())
    else await folder.close()
  }
}

interface Executor extends Pick<SessionFacts, 'sandbox' | 'network' | 'endInside' | 'tidy'> {
  launch: Launch
  /** Set for a command without approval in the strict sandbox. */
  isUnasked?: boolean
}

/**
 * Chooses where the program runs. A required sandbox that is unavailable is an error; the program never runs without
 * it.
 */
async function chooseExecutor(
  context: Context,
  call: Call,
  wanted: WantedRun,
  folder: Handle,
  launch: Launch,
): Promise<Executor> {
  const { mode, caller } = call
  const { mode: usual, ...usually } = context.settings.sandbox
  const strict = isStrictRequested(call, usual) && context.sandbox !== 'usual'
  const settings = strict ? toStrictSettings(usually) : usually
  const outside = { launch, sandbox: 'none', network: true } as const
  if (wanted.escalated && caller.sandbox === 'strict')
    throw createSlotError('VT_EXEC_SANDBOX', 'This caller may run commands only in the sandbox, even with approval.')
  const use = resolveSandboxMode(usual, caller.sandbox, wanted.escalated ?? false)
  if (use === 'off') return outside
  const found = await findSandbox(context.workspace.root)
  if ('missing' in found) {
    if (use === 'auto' && context.sandbox !== 'strict') return outside
    throw createSlotError('VT_EXEC_SANDBOX', `The required sandbox is unavailable: ${found.missing}.`)
  }
  const { root, home } = context.workspace
  const own = await listOwnPaths(context)
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
  requireProtectable(where, root)
  const inside = confineCommand(found.tools, launch, where)
  const tidyWorkspace = where.steering && createTidy(context, where.steering)
  return {
    launch: inside,
    sandbox: 'bwrap',
    network: settings.network,
    endInside: inside.readEnd,
    isUnasked: strict,
    ...(tidyWorkspace && { tidy: tidyWorkspace }),
  }
}

/** Adds the end of a checkpoint to what happens after a command. */
function joinTidy(tidy: SessionFacts['tidy'], checkpoint: SessionCheckpoint | undefined): SessionFacts['tidy'] {
  if (!checkpoint) return tidy
  return async (exit?: Exit): Promise<Notice[]> => [
    ...((await tidy?.(exit)) ?? []),
    ...(exit ? await checkpoint.finish().catch(() => []) : checkpoint.takeNotices()),
  ]
}

/** Throws where the sandbox cannot protect a path of the workspace. */
function requireProtectable(where: Parameters<typeof findObstacle>[0], root: string): void {
  const unheld = findObstacle(where)
  if (unheld === undefined) return
  const path = relative(root, unheld.path) || '.'
  throw createSlotError('VT_EXEC_SANDBOX', `The sandbox cannot protect '${path}': ${unheld.why}.`, {
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
    writeStdin(transport, stdin)
    return transport
  }
  const { startTerminal } = await import('./pty.js')
  try {
    const transport = startTerminal(launch, tty, sink)
    writeStdin(transport, stdin)
    return transport
  } catch (error) {
    throw createSlotError(
      'VT_EXEC_PTY',
      `This machine cannot open a terminal: ${(error as Error).message.split('\n')[0]}.`,
    )
  }
}

function writeStdin(transport: Transport, stdin: WantedRun['stdin']): void {
  if (typeof stdin === 'string') return
  transport.write(Buffer.from(stdin.text))
  transport.end()
}

/** Converts the error of the system to one of the slot. */
function toStartError(error: unknown, { command, args }: WantedRun): unknown {
  const { code, syscall = '', path } = error as NodeJS.ErrnoException
  if (error instanceof VtError || typeof code !== 'string') return error
  if (code === 'E2BIG')
    return problem('VT_INPUT_TOO_LARGE', { size: 'longer than the system allows', limit: 'one argument below 128 KiB' })
  if (['EAGAIN', 'EMFILE', 'ENFILE', 'ENOMEM'].includes(code)) {
    return createSlotError('VT_EXEC_LIMIT', `The system cannot start more programs now (${code}).`, { retryable: true })
  }
  const name = String([command, args ?? []].flat()[0])
  if (syscall.startsWith('spawn') && ['ENOENT', 'EACCES'].includes(code)) return createNotFoundError(name)
  return problem(
    'VT_FILE_IO',
    { path: (path ?? name).slice(0, 200), reason: `the system refuses it (${code})` },
    {
      hint: 'Nothing was run. Check that the first line of the script names an existing program.',
      retryable: false,
      details: { errno: code },
    },
  )
}
