import { InvalidArgumentError, Option, type Command } from 'commander'
import { CATCH_UPS, OVERLAPS, type ScheduledAction, type ScheduledTask, type Timing } from '../../lib/schedule/index.js'
import { say, type OutputForm } from '../../lib/terminal/index.js'
import { printSchedule } from './list.js'
import { identifyWorkspace, type ScheduleVerb } from './verb.js'

/** Flags of `schedule create`. */
export interface CreateFlags extends OutputForm {
  /** The word without a flag. */
  task?: string | undefined
  prompt?: string
  reminder?: string
  every?: string
  cron?: string
  at?: string
  tz?: string
  name?: string
  model?: string
  verify?: string[]
  overlap: ScheduledTask['overlap']
  catchUp: ScheduledTask['catch_up']
  catchUpWindow: number
  timeout: number
  jitter: boolean
  maxRuns?: number
  maxBudgetUsd?: number
}
type Create = (how: CreateFlags, create: (here: ScheduleVerb, how: CreateFlags) => Promise<void>) => Promise<void>

/** Adds the flags of a new schedule to its command. */
export function addCreateCommand(command: Command, run: Create): void {
  const whole = createNumberParser((value) => Number.isSafeInteger(value) && value >= 1, 'pass a whole number from 1.')
  const amount = createNumberParser((value) => Number.isFinite(value) && value >= 0, 'pass a number from 0.')
  command
    .argument('[prompt]', 'the task, as with --prompt')
    .option('--prompt <text>', 'the task, as for `vtcode exec`')
    .option('--reminder <text>', 'a message instead of a task')
    .option('--every <time>', 'an interval such as 10m or 2h, at least 1m')
    .option('--cron <fields>', "such as '0 9 * * 1-5', or @daily")
    .option('--at <time>', "18:30, '2027-01-31 09:00' or RFC 3339")
    .option('--tz <zone>', 'time zone of --cron and --at; default: of this machine')
    .option('--name <name>')
    .option('--model <id>', '<provider>/<model>')
    .option(
      '--verify <command>',
      'a command that has to pass; naming it is consent to run it',
      (one: string, all: string[] = []) => [...all, one],
    )
    .addOption(new Option('--overlap <how>', 'while an earlier run is active').choices(OVERLAPS).default('skip'))
    .addOption(new Option('--catch-up <how>', 'which missed runs to start').choices(CATCH_UPS).default('one'))
    .addOption(
      new Option('--catch-up-window <time>', 'ignore missed runs older than this')
        .argParser(createSpanParser(60, 604_800))
        .default(3600, '1h'),
    )
    .addOption(
      new Option('--timeout <time>', 'time limit of a run').argParser(createSpanParser(1, 604_800)).default(7200, '2h'),
    )
    .option('--no-jitter', 'start on time, not up to a tenth of the period later')
    .option('--max-runs <n>', 'end after this many runs', whole)
    .option('--max-budget-usd <usd>', 'cost limit of a run', amount)
    .action((task: string | undefined, how: CreateFlags) => run({ ...how, task }, createSchedule))
}

async function createSchedule(here: ScheduleVerb, how: CreateFlags): Promise<void> {
  const { io, kernel, store } = here
  const now = Date.now()
  const schedule = resolveTiming(here, how, now)
  const action = resolveAction(here, how)
  const task = await store.add({
    name:
      (how.name ?? (action.kind === 'prompt' ? action.prompt : action.message)).trim().split('\n')[0]!.slice(0, 80) ||
      'schedule',
    workspace: kernel.workspace,
    workspace_id: identifyWorkspace(here, kernel.workspace),
    created_at: new Date(now).toISOString(),
    enabled: true,
    schedule,
    action,
    overlap: how.overlap,
    catch_up: how.catchUp,
    catch_up_window_secs: how.catchUpWindow,
    timeout_secs: how.timeout,
    jitter: how.jitter,
    ...(how.maxRuns !== undefined && { max_runs: how.maxRuns }),
    ...(how.model !== undefined && { model: how.model }),
    mode: kernel.inspection.resolveMode(),
  })
  printSchedule(here, task, how)
  if (!kernel.settings.automation.scheduled_tasks.enabled) say(io, 'warning', OFF_WARNING)
}

const OFF_WARNING =
  'Schedules are off: nothing runs. `vtcode config set automation.scheduled_tasks.enabled true` switches them on; ' +
  '`vtcode schedule serve` runs them.'

function resolveTiming({ library }: ScheduleVerb, { every, cron, at, tz }: CreateFlags, now: number): Timing {
  const given = [every, cron, at].filter((one) => one !== undefined)
  if (given.length !== 1)
    throw library.createScheduleError(
      'VT_SCHED_BAD_EXPRESSION',
      given.length === 0 ? 'No time given.' : `${given.length} times given.`,
      "Pass one of --every 10m, --cron '0 9 * * 1-5' and --at 18:30.",
    )
  if (every !== undefined) return library.parseInterval(every, now)
  const zone = library.resolveTimeZone(tz)
  return cron === undefined ? library.parseOnce(at!, zone, now) : library.parseCron(cron, zone, now)
}

function resolveAction(
  { library }: ScheduleVerb,
  { task, prompt, reminder, verify, maxBudgetUsd }: CreateFlags,
): ScheduledAction {
  const given = [task, prompt, reminder].filter((one) => one !== undefined)
  const text = (given[0] ?? '').trim()
  const most = reminder === undefined ? 65_536 : 4096
  const refuse = (message: string, hint: string) =>
    library.createScheduleError('VT_SCHED_BAD_EXPRESSION', message, hint)
  if (text === '' || given.length > 1)
    throw refuse(
      text === '' ? 'No task given.' : 'More than one task given.',
      'Pass one of "<task>", --prompt "<task>" and --reminder "<message>".',
    )
  if (text.length > most)
    throw refuse(
      `The text has ${text.length} characters; the limit is ${most}.`,
      'Put the rest into a file of the workspace, and name the file in the text.',
    )
  if (reminder !== undefined) return { kind: 'reminder', message: text }
  return {
    kind: 'prompt',
    prompt: text,
    ...(verify && { verify }),
    ...(maxBudgetUsd !== undefined && { max_budget_usd: maxBudgetUsd }),
  }
}

const createNumberParser =
  (fits: (value: number) => boolean, problem: string) =>
  (text: string): number => {
    const value = Number(text)
    if (!fits(value)) throw new InvalidArgumentError(problem)
    return value
  }

const createSpanParser =
  (least: number, most: number) =>
  (text: string): number => {
    const [, count, unit] = /^(\d{1,7})([smhd])$/.exec(text) ?? []
    const seconds = Number(count) * ({ s: 1, m: 60, h: 3600, d: 86_400 }[unit ?? ''] ?? Number.NaN)
    if (!(seconds >= least && seconds <= most))
      throw new InvalidArgumentError(`pass a time from ${least}s to ${most / 86_400}d, for example 30m.`)
    return seconds
  }
