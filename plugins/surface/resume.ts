import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { withFlags, withSession, work, type Flags } from '../agent/cli/index.js'
import { isInteractive, toOneLine, printable, runCommand, say, createVerb } from '../lib/terminal/index.js'

interface ResumeFlags extends Flags {
  last?: true
  all?: true
  continueTurn?: true
  fork?: true
  summarize?: true
}

/** `vtcode resume`: goes on with a session, whatever ended it. */
export default async function resume(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const described = createVerb(
    'resume',
    'Continues a session: with a new task, or with the turn that was interrupted.',
    io,
  )
  const command = withSession(
    withFlags(described.argument('[session]', 'its id; without one --last').argument('[task...]', 'what to do next')),
  )
    .option('--last', 'the session that was used last')
    .option('--continue', 'the same as --last')
    .option('--all', 'sessions of other workspaces too; the work is done there')
    .option('--continue-turn', 'continue the turn that was interrupted')
    .option('--goal <text>', 'set a goal: the run goes on until it is met')
    .option('--fork', 'begin a new session with the conversation of that one, which stays as it is')
    .option('--summarize', 'with --fork: begin with what that one remembers instead')
    .action(async (first: string | undefined, rest: string[], flags: ResumeFlags) => {
      const last = flags.last ?? flags.continue ?? false
      const id = first?.startsWith('ses_') && !last ? first : undefined
      const words = [id === undefined ? (first ?? []) : [], rest].flat(2)
      const task = words.join(' ') || (flags.goal ?? '')
      const fault = id === undefined && !last ? describeSessionFault(first) : findFlagFault(flags, task)
      if (fault === undefined) code = await resumeRun(kernel, id ?? 'last', task, flags, io)
      else {
        say(io, 'error', fault)
        code = 2
      }
    })
  return runCommand(command, argv, () => code)
}

function describeSessionFault(first: string | undefined): string {
  const name = first === undefined ? undefined : JSON.stringify(toOneLine(first))
  const wrong = name === undefined ? '' : `${name} is no id of a session; an id begins with ses_. `
  return `${wrong}Say which session: its id, or --last. \`vtcode sessions list\` shows them.`
}

function findFlagFault({ fork, summarize, sessionId, continueTurn }: ResumeFlags, task: string): string | undefined {
  if ((summarize || sessionId !== undefined) && !fork) {
    return `${summarize ? '--summarize' : '--session-id'} belongs to --fork.`
  }
  return task === '' && (!continueTurn || fork) ? 'Say what to do next, or --continue-turn.' : undefined
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

/** A kernel where a session is at home; where none is known, this one says so. */
async function openKernel(kernel: Kernel, session: string, io: Io): Promise<Kernel> {
  const { findSessionWorkspace } = await import('../agent/cli/index.js')
  const workspace = await findSessionWorkspace(kernel.workspace, session, kernel.inspection.home)
  if (workspace === undefined || workspace === kernel.workspace) return kernel
  say(io, 'info', `The session belongs to ${printable(workspace)}; the work is done there.`)
  return kernel.inspection.openSibling(workspace)
}

/** A kernel in the mode of the session, where that is stricter than the default. */
async function asStrict(kernel: Kernel, session: string): Promise<Kernel> {
  if (kernel.inspection.origins().find(({ path }) => path === 'policy.mode')?.file !== 'default_mode') return kernel
  const { findLastSession, listSessions } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = session === 'last' ? await findLastSession(workspace) : session
    const mode = (await listSessions(workspace)).find(({ session_id }) => session_id === id)?.mode
    return mode === 'plan' || mode === 'ask' ? await kernel.inspection.openSibling(kernel.workspace, { mode }) : kernel
  } catch {
    // Whoever opens the session says what is wrong with it.
    return kernel
  } finally {
    workspace.close()
  }
}
