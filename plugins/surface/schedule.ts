import { VtError, type Io, type Kernel } from '../../core/index.js'
import { runCommand, say, createVerb, type OutputForm } from '../lib/terminal/index.js'
import type { CreateFlags } from './schedule/create.js'
import type { ScheduleVerb } from './schedule/verb.js'

/** `vtcode schedule`: tasks that begin by themselves. */
export default async function schedule(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const [library, parts, service] = await Promise.all([
    import('../lib/schedule/index.js'),
    import('./schedule/list.js'),
    import('./schedule/serve.js'),
  ])
  const here: ScheduleVerb = { kernel, io, library, store: new library.TaskStore(kernel.inspection.home), code: 0 }
  const command = createVerb(
    'schedule',
    'Begins tasks by themselves, at times that you set. `serve` has to run for that; `create --help` says how to set a time.',
    io,
  )
  /** An error of ours is told with its code; whoever is an agent's command changes nothing. */
  const runReported = async (what: () => void | Promise<void>, changes = false): Promise<void> => {
    if (changes && io.env['VTCODE'] === '1') {
      say(io, 'error', 'A command of an agent cannot change what begins by itself.')
      here.code = 1
      return
    }
    try {
      await what()
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      say(io, 'error', `${error.code}: ${error.message}\n  ${error.problem.hint}`)
      here.code = error.code === 'VT_SCHED_BAD_EXPRESSION' ? 2 : 1
    }
  }
  const addCommand = (words: string, description: string) =>
    command.command(words).description(description).option('--json').option('--text')
  const { addCreateCommand } = await import('./schedule/create.js')
  addCreateCommand(
    addCommand('create', 'sets a schedule for this workspace').alias('add'),
    (how: CreateFlags & OutputForm, create) => runReported(() => create(here, how), true),
  )
  addCommand('list', 'the schedules, with what comes next').action((form: OutputForm) =>
    runReported(() => parts.listSchedules(here, form)),
  )
  addCommand('show <id>', 'a schedule, by its id or name').action((id: string, form: OutputForm) =>
    runReported(() => parts.showSchedule(here, id, form)),
  )
  addCommand('next', 'what comes, over all schedules')
    .option('--count <n>', 'how many, 10')
    .action((form: OutputForm & { count?: string }) => runReported(() => parts.printComingRuns(here, form)))
  addCommand('runs <id>', 'what ran, and which times did not').action((id: string, form: OutputForm) =>
    runReported(() => service.printRuns(here, id, form)),
  )
  addCommand('pause <id>', 'begins nothing more; what runs ends').action((id: string, form: OutputForm) =>
    runReported(() => parts.enableSchedule(here, id, false, form), true),
  )
  const resume = addCommand('resume <id>', 'goes on from now: what was missed stays so').option(
    '--here',
    'from now on in this workspace',
  )
  resume.action((id: string, form: OutputForm & { here?: true }) =>
    runReported(() => parts.enableSchedule(here, id, true, form), true),
  )
  addCommand('delete <id>', 'and what is kept of its runs')
    .alias('remove')
    .action((id: string, form: OutputForm) => runReported(() => parts.removeSchedule(here, id, form), true))
  addCommand('run <id>', 'once, now').action((id: string, form: OutputForm) =>
    runReported(() => service.runSchedule(here, id, form), true),
  )
  addCommand('serve', 'runs what is due, until it is ended')
    .option('--once', 'what is due now')
    .action((form: OutputForm & { once?: true }) => runReported(() => service.serveUntilEnded(here, form), true))
  addCommand('status', 'who serves, and what comes next').action((form: OutputForm) =>
    runReported(() => service.printStatus(here, form)),
  )
  addCommand('install-service', 'writes a service for your session; starts nothing').action((form: OutputForm) =>
    runReported(() => service.changeService(here, true, form), true),
  )
  addCommand('uninstall-service', 'removes that file').action((form: OutputForm) =>
    runReported(() => service.changeService(here, false, form), true),
  )
  return runCommand(command, argv, () => here.code)
}
