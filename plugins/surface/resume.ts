import { openWorkspace, type Io, type Kernel } from '../../core/index.js'
import { withFlags, withSession, work, type Flags } from '../agent/cli/index.js'
import { interactive, oneLine, printable, runCommand, say, verb } from '../lib/terminal/index.js'

/** `vtcode resume`: goes on with a session, whatever ended it. */
export default async function resume(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const described = verb('resume', 'Continues a session: with a new task, or with the turn that was interrupted.', io)
  const command = withSession(withFlags(described.argument('[session]', 'its id; without one --last').argument('[task...]', 'what to do next')))
    .option('--last', 'the session that was used last')
    .option('--continue', 'the same as --last')
    .option('--all', 'sessions of other workspaces too; the work is done there')
    .option('--continue-turn', 'continue the turn that was interrupted')
    .option('--goal <text>', 'set a goal: the run goes on until it is met')
    .option('--fork', 'begin a new session with the conversation of that one, which stays as it is')
    .option('--summarize', 'with --fork: begin with what that one remembers instead')
    .action(async (first: string | undefined, rest: string[], flags: Flags & { last?: true; all?: true; continueTurn?: true; fork?: true; summarize?: true }) => {
      const last = flags.last ?? flags.continue ?? false
      const named = first?.startsWith('ses_') && !last
      const task = [...(named || first === undefined ? [] : [first]), ...rest].join(' ') || (flags.goal ?? '')
      if (!named && !last) {
        const wrong = first === undefined ? '' : `${JSON.stringify(oneLine(first))} is no id of a session; an id begins with ses_. `
        say(io, 'error', `${wrong}Say which session: its id, or --last. \`vtcode sessions list\` shows them.`)
        code = 2
      } else if ((flags.summarize || flags.sessionId !== undefined) && !flags.fork) {
        say(io, 'error', `${flags.summarize ? '--summarize' : '--session-id'} belongs to --fork.`)
        code = 2
      } else if (task === '' && (!flags.continueTurn || flags.fork)) {
        say(io, 'error', 'Say what to do next, or --continue-turn.')
        code = 2
      } else {
        const forked = flags.fork ? { fork: flags.summarize ? ('summarized' as const) : ('full_copy' as const) } : {}
        const from = named ? first! : 'last'
        const there = flags.all ? await kernelOf(kernel, from, io) : kernel
        const fitting = await asStrict(there, from, io)
        try {
          code = await work(fitting, task === '' ? undefined : task, flags, io, { verb: interactive(io) ? 'interactive' : 'exec', surface: 'resume', resume: from, ...forked })
        } finally {
          for (const one of new Set([there, fitting])) if (one !== kernel) await one.close()
        }
      }
    })
  return runCommand(command, argv, () => code)
}

/** A kernel where a session is at home; where none is known, this one says so. */
async function kernelOf(kernel: Kernel, session: string, io: Io): Promise<Kernel> {
  const { homeOfSession } = await import('../agent/cli/index.js')
  const workspace = await homeOfSession(kernel.workspace, session, kernel.inspection.home)
  if (workspace === undefined || workspace === kernel.workspace) return kernel
  say(io, 'info', `The session belongs to ${printable(workspace)}; the work is done there.`)
  return kernel.inspection.openSibling(workspace)
}

/** A kernel in the mode of the session, where that is stricter than the mode that holds because nobody says any. */
async function asStrict(kernel: Kernel, session: string, io: Io): Promise<Kernel> {
  if (kernel.inspection.origins().find(({ path }) => path === 'policy.mode')?.file !== 'default_mode') return kernel
  const { lastSession, listSessions } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const id = session === 'last' ? await lastSession(workspace) : session
    const mode = (await listSessions(workspace)).find(({ session_id }) => session_id === id)?.mode
    return mode === 'plan' || mode === 'ask' ? await kernel.inspection.openSibling(kernel.workspace, { mode }) : kernel
  } catch {
    // Whoever opens the session says what is wrong with it.
    return kernel
  } finally {
    workspace.close()
  }
}
