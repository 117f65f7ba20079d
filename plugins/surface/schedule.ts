import { VtError, type Io, type Kernel } from '../../core/index.js'
import { runCommand, say, createVerb, type OutputForm } from '../lib/terminal/index.js'
import type { CreateFlags } from './schedule/create.js'
import type { ScheduleVerb } from './schedule/verb.js'

/** `vtcode schedule`: manages tasks that start by themselves. */
export default async function schedule(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const [library, parts, service] = await Promise.all([
    import('../lib/schedule/index.js'),
    import('./schedule/list.js'),
    import('./schedule/serve.js'),
  ])
  const here: ScheduleVerb = { kernel, io, library, store: new library.TaskStore(kernel.inspection.home), code: 0 }
  const command = createVerb(
    'schedule',
    'Start tasks at times that you set. `serve` has to run for that; `create --help` shows how to set a time.',
    io,
  )
  /** Runs a command and reports a VtError with its code. Refuses changes from a command of an agent. */
  const runReported = async (what: () => void | Promise<void>, changes = false): Promise<void> => {
    if (changes && io.env['VTCODE'] === '1') {
      say(io, 'error', 'A command of an agent cannot change schedules. Run it yourself in a terminal.')
      here.code = 1
      return
    }
    try {
      await what()
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      say(io, 'error', `${error.code}: ${error.message}\n  ${error.problem.hint}`)
      here.code = ['VT_SCHED_BAD_EXPRESSION', 'VT_SCHED_SECRET'].includes(error.code) ? 2 : 1
    }
  }
  const addCommand = (words: string, description: string) =>
    command.command(words).description(description).option('--json').option('--text')
  const { addCreateCommand } = await import('./schedule/create.js')
  addCreateCommand(
    addCommand('create', 'Create a schedule for this workspace.').alias('add'),
    (how: CreateFlags & OutputForm, create) => runReported(() => create(here, how), true),
  )
  addCommand('list', 'List schedules with their next runs.').action((form: OutputForm) =>
    runReported(() => parts.listSchedules(here, form)),
  )
  addCommand('show <id>', 'Show a schedule by its id or name.').action((id: string, form: OutputForm) =>
    runReported(() => parts.showSchedule(here, id, form)),
  )
  addCommand('next', 'List the next runs of all schedules.')
    .option('--count <n>', 'number of runs; default: 10')
    .action((form: OutputForm & { count?: string }) => runReported(() => parts.printComingRuns(here, form)))
  addCommand('runs <id>', 'List runs and skipped times.').action((id: string, form: OutputForm) =>
    runReported(() => service.printRuns(here, id, form)),
  )
  addCommand('pause <id>', 'Pause: start no more runs; a running one ends.').action((id: string, form: OutputForm) =>
    runReported(() => parts.enableSchedule(here, id, false, form), true),
  )
  const resume = addCommand('resume <id>', 'Resume from now on; missed runs stay missed.').option(
    '--here',
    'run in this workspace from now on',
  )
  resume.action((id: string, form: OutputForm & { here?: true }) =>
    runReported(() => parts.enableSchedule(here, id, true, form), true),
  )
  addCommand('delete <id>', 'Delete a schedule and the records of its runs.')
    .alias('remove')
    .action((id: string, form: OutputForm) => runReported(() => parts.removeSchedule(here, id, form), true))
  addCommand('run <id>', 'Run once, now.').action((id: string, form: OutputForm) =>
    runReported(() => service.runSchedule(here, id, form), true),
  )
  addCommand('serve', 'Run due tasks until stopped.')
    .option('--once', 'run tasks that are due now, then end')
    .action((form: OutputForm & { once?: true }) => runReported(() => service.serveUntilEnded(here, form), true))
  addCommand('status', 'Show the serving process and the next run.').action((form: OutputForm) =>
    runReported(() => service.printStatus(here, form)),
  )
  addCommand('install-service', 'Write a service file for your login session; start nothing.').action(
    (form: OutputForm) => runReported(() => service.changeAutostart(here, true, form), true),
  )
  addCommand('uninstall-service', 'Remove the service file.').action((form: OutputForm) =>
    runReported(() => service.changeAutostart(here, false, form), true),
  )
  return runCommand(command, argv, () => here.code)
}
