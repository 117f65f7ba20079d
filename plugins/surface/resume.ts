import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { addWorkOptions, addSessionOptions, readTask, work, type WorkFlags } from '../agent/cli/index.js'
import {
  formatAge,
  isInteractive,
  pickOne,
  toOneLine,
  printable,
  runCommand,
  say,
  createVerb,
} from '../lib/terminal/index.js'

interface ResumeFlags extends WorkFlags {
  last?: true
  all?: true
  continueTurn?: true
  fork?: true
  summarize?: true
}

/** `vtcode resume`: continues a session, however it ended. */
export default async function resume(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const described = createVerb('resume', 'Continue a session: with a new task, or with the interrupted turn.', io)
  const command = addSessionOptions(
    addWorkOptions(
      described
        .argument('[session]', 'its id; else use --last')
        .argument('[task...]', 'what to do next; `-` or nothing: from stdin'),
    ),
  )
    .option('--last', 'the last used session')
    .option('--continue', 'same as --last')
    .option('--all', 'also sessions of other workspaces; work there')
    .option('--continue-turn', 'continue the interrupted turn')
    .option('--goal <text>', 'set a goal: the run continues until it is met')
    .option('--fork', 'start a new session with its conversation; the old one stays unchanged')
    .option('--summarize', 'with --fork: start with a summary instead')
    .action(async (first: string | undefined, rest: string[], flags: ResumeFlags) => {
      const last = flags.last ?? flags.continue ?? false
      code =
        first === undefined && !last && isInteractive(io)
          ? await pickAndChat(kernel, flags, io)
          : await resumeNamed(kernel, last, [first ?? [], rest].flat(), flags, io)
    })
  return runCommand(command, argv, () => code)
}

/** Continues the session that the first word names, or the last one. */
async function resumeNamed(
  kernel: Kernel,
  last: boolean,
  [first, ...rest]: string[],
  flags: ResumeFlags,
  io: Io,
): Promise<number> {
  const id = first?.startsWith('ses_') && !last ? first : undefined
  const words = id === undefined && first !== undefined ? [first, ...rest] : rest
  const task = id === undefined && !last ? '' : await readNextTask(words, flags, io)
  const fault = id === undefined && !last ? describeSessionFault(first) : findFlagFault(flags, task)
  if (fault === undefined) return resumeRun(kernel, id ?? 'last', task, flags, io)
  say(io, 'error', fault)
  return 2
}

/** Lets a person pick a session of this workspace and continues it in the chat. */
async function pickAndChat(kernel: Kernel, { model, provider }: ResumeFlags, io: Io): Promise<number> {
  const { listSessions } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  const rows = await listSessions(workspace).finally(() => workspace.close())
  const begun = rows.filter(({ turn_count }) => turn_count > 0)
  if (begun.length === 0) {
    say(io, 'info', 'This workspace has no session to continue.')
    return 0
  }
  const id = await pickOne(
    io,
    'Which session?',
    begun.slice(0, MAX_PICKED).map(({ session_id, title, first_prompt, updated_at, turn_count }) => ({
      value: session_id,
      label: toOneLine(title ?? first_prompt).slice(0, 60) || session_id,
      hint: `${formatAge(updated_at, Date.now())}, ${turn_count} ${turn_count === 1 ? 'turn' : 'turns'}`,
    })),
  )
  if (id === undefined) return 0
  const chat = await kernel.inspection.loadSurface('chat')
  const flags = { model, provider }
  const words = Object.entries(flags).flatMap(([name, value]) => (value === undefined ? [] : [`--${name}`, value]))
  const fitting = await asStrict(kernel, id)
  try {
    return (await chat?.(fitting, ['--resume', id, ...words], io)) ?? 1
  } finally {
    if (fitting !== kernel) await fitting.close()
  }
}
const MAX_PICKED = 50

/** Reads the task as `exec` does, from words and a pipe. A goal or an interrupted turn needs none. */
async function readNextTask(words: string[], { goal, continueTurn }: ResumeFlags, io: Io): Promise<string> {
  const needsNone = words.length === 0 && (goal !== undefined || continueTurn === true)
  return needsNone ? (goal ?? '') : readTask(words, io)
}

function describeSessionFault(first: string | undefined): string {
  const name = first === undefined ? undefined : JSON.stringify(toOneLine(first))
  const wrong = name === undefined ? 'No session given.' : `Invalid session id ${name}: an id begins with ses_.`
  return `${wrong} Pass an id or --last; \`vtcode sessions list\` lists sessions.`
}

function findFlagFault({ fork, summarize, sessionId, continueTurn }: ResumeFlags, task: string): string | undefined {
  if ((summarize || sessionId !== undefined) && !fork) {
    return `${summarize ? '--summarize' : '--session-id'} needs --fork.`
  }
  return task === '' && (!continueTurn || fork)
    ? 'No task given. Write what to do next, or pass --continue-turn.'
    : undefined
}

async function resumeRun(kernel: Kernel, from: string, task: string, flags: ResumeFlags, io: Io): Promise<number> {
  const forked = flags.fork && { fork: flags.summarize ? ('summarized' as const) : ('full_copy' as const) }
  const there = flags.all ? await openKernel(kernel, from, io) : kernel
  const fitting = await asStrict(there, from)
  const how = { surface: 'resume', resume: from, ...forked }
  try {
    const verb = isInteractive(io) ? 'interactive' : 'exec'
    return await work(fitting, task === '' ? undefined : task, flags, io, { verb, ...how })
  } finally {
    for (const one of new Set([there, fitting])) if (one !== kernel) await one.close()
  }
}

/**
 * Opens a kernel in the workspace of a session. Returns `kernel` for an unknown session, so that it reports the
 * error.
 */
async function openKernel(kernel: Kernel, session: string, io: Io): Promise<Kernel> {
  const { findSessionWorkspace } = await import('../agent/cli/index.js')
  const workspace = await findSessionWorkspace(kernel.workspace, session, kernel.inspection.home)
  if (workspace === undefined || workspace === kernel.workspace) return kernel
  say(io, 'info', `The session belongs to ${printable(workspace)}; the run works there.`)
  return kernel.inspection.openSibling(workspace)
}

/** Opens a kernel in the mode of the session if that is stricter than the default. */
async function asStrict(kernel: Kernel, session: string): Promise<Kernel> {
  if (kernel.inspection.origins().find(({ path }) => path === 'policy.mode')?.file !== 'default_mode') return kernel
  const { findLastSession, listSessions } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = session === 'last' ? await findLastSession(workspace) : session
    const mode = (await listSessions(workspace)).find(({ session_id }) => session_id === id)?.mode
    return mode === 'plan' || mode === 'ask' ? await kernel.inspection.openSibling(kernel.workspace, { mode }) : kernel
  } catch {
    // Opening the session reports the error.
    return kernel
  } finally {
    workspace.close()
  }
}
