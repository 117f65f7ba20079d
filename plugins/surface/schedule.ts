import { VtError, type Io, type Kernel } from '../../core/index.js'
import { runCommand, say, verb, type OutputForm } from '../lib/terminal/index.js'
import type { NewSchedule } from './schedule/create.js'
import type { ScheduleVerb } from './schedule/verb.js'

/** `vtcode schedule`: tasks that begin by themselves. */
export default async function schedule(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const [library, parts, service] = await Promise.all([
    import('../lib/schedule/index.js'),
    import('./schedule/list.js'),
    import('./schedule/serve.js'),
  ])
  const here: ScheduleVerb = { kernel, io, library, store: new library.TaskStore(kernel.inspection.home), code: 0 }
  const command = verb(
    'schedule',
    'Begins tasks by themselves, at times that you set. `serve` has to run for that; `create --help` says how to set a time.',
    io,
  )
  /** An error of ours is told with its code; whoever is an agent's command changes nothing. */
  const doing = async (what: () => void | Promise<void>, changes = false): Promise<void> => {
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
  const formed = (words: string, description: string) =>
    command.command(words).description(description).option('--json').option('--text')
  const { addCreate } = await import('./schedule/create.js')
  addCreate(
    formed('create', 'sets a schedule for this workspace').alias('add'),
    (how: NewSchedule & OutputForm, create) => doing(() => create(here, how), true),
  )
  formed('list', 'the schedules, with what comes next').action((form: OutputForm) =>
    doing(() => parts.listSchedules(here, form)),
  )
  formed('show <id>', 'a schedule, by its id or name').action((id: string, form: OutputForm) =>
    doing(() => parts.showSchedule(here, id, form)),
  )
  formed('next', 'what comes, over all schedules')
    .option('--count <n>', 'how many, 10')
    .action((form: OutputForm & { count?: string }) => doing(() => parts.comingRuns(here, form)))
  formed('runs <id>', 'what ran, and which times did not').action((id: string, form: OutputForm) =>
    doing(() => service.listRuns(here, id, form)),
  )
  formed('pause <id>', 'begins nothing more; what runs ends').action((id: string, form: OutputForm) =>
    doing(() => parts.enableSchedule(here, id, false, form), true),
  )
  const resume = formed('resume <id>', 'goes on from now: what was missed stays so').option(
    '--here',
    'from now on in this workspace',
  )
  resume.action((id: string, form: OutputForm & { here?: true }) =>
    doing(() => parts.enableSchedule(here, id, true, form), true),
  )
  formed('delete <id>', 'and what is kept of its runs')
    .alias('remove')
    .action((id: string, form: OutputForm) => doing(() => parts.removeSchedule(here, id, form), true))
  formed('run <id>', 'once, now').action((id: string, form: OutputForm) =>
    doing(() => service.runSchedule(here, id, form), true),
  )
  formed('serve', 'runs what is due, until it is ended')
    .option('--once', 'what is due now')
    .action((form: OutputForm & { once?: true }) => doing(() => service.serveHere(here, form), true))
  formed('status', 'who serves, and what comes next').action((form: OutputForm) =>
    doing(() => service.serviceStatus(here, form)),
  )
  formed('install-service', 'writes a service for your session; starts nothing').action((form: OutputForm) =>
    doing(() => service.service(here, true, form), true),
  )
  formed('uninstall-service', 'removes that file').action((form: OutputForm) =>
    doing(() => service.service(here, false, form), true),
  )
  return runCommand(command, argv, () => here.code)
}
