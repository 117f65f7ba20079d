import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, programFile, writeStateSync } from '../../../core/system/index.js'
import type { Settings } from '../../../core/index.js'
import type { RunEnd, RunEnvironment, ScheduledTask } from '../../lib/schedule/index.js'
import { isHolderAlive, isHolder, getOwnHolder, type Holder } from '../../lib/state/index.js'
import {
  shouldPrintJson,
  formatColumns,
  formatDocument,
  toOneLine,
  say,
  type OutputForm,
} from '../../lib/terminal/index.js'
import type { ScheduleVerb } from './verb.js'

const clock = { now: () => Date.now(), elapsed: () => performance.now() }

/** Returns `automation.scheduled_tasks`. Throws VT_SCHED_DISABLED if it is off. */
function requireEnabled({ kernel, library }: ScheduleVerb): Settings['automation']['scheduled_tasks'] {
  const { scheduled_tasks } = kernel.settings.automation
  if (scheduled_tasks.enabled) return scheduled_tasks
  throw library.createScheduleError(
    'VT_SCHED_DISABLED',
    'Schedules are off on this machine.',
    'Set automation.scheduled_tasks.enabled: true in ~/.vtcode/vtcode.config.yaml.',
  )
}

/** Returns home and environment of a run, with the variables that the user's providers read. */
async function resolveRunPlace({ kernel, io }: ScheduleVerb): Promise<RunEnvironment> {
  const { listProviderVariables } = await import('../../agent/cli/index.js')
  const seen = [...listProviderVariables(kernel), 'VTCODE_MODEL'].flatMap((name) =>
    io.env[name] === undefined ? [] : [[name, io.env[name]] as const],
  )
  return { home: kernel.inspection.home, env: Object.fromEntries(seen) }
}

/** Runs `schedule serve`: starts due tasks until stopped. */
export async function serveUntilEnded(
  here: ScheduleVerb,
  { once, ...form }: OutputForm & { once?: true },
): Promise<void> {
  const { io, library, store } = here
  const { max_parallel } = requireEnabled(here)
  const place = await resolveRunPlace(here)
  const reportRun = (
    task: ScheduledTask,
    claim: { run: string; base: string },
    end: RunEnd,
    paused: string | undefined,
  ): void => {
    const message =
      task.action.kind === 'reminder' && end.status === 'success' ? task.action.message : (end.reason ?? '')
    if (shouldPrintJson(io, form))
      io.stdout.write(
        formatDocument({
          task: task.id,
          name: task.name,
          run: claim.run,
          base_run_at: claim.base,
          ...end,
          ...(message !== '' && { message }),
        }),
      )
    else {
      const result = message === '' ? end.status : `${end.status}, ${message}`
      io.stdout.write(`${toOneLine(`${new Date().toISOString()}  ${task.id}  ${task.name}: ${result}`)}\n`)
    }
    if (paused !== undefined)
      say(
        io,
        'warning',
        toOneLine(`${task.id} (${task.name}) is paused: ${paused}. \`vtcode schedule resume ${task.id}\` resumes it.`),
      )
  }
  const scheduler = new library.Scheduler({
    store,
    clock,
    max_parallel,
    run: (task, claim, signal) => library.launchRun(task, claim, signal, place),
    onEnd: reportRun,
  })
  const sign = join(store.state, 'serving', `${process.pid}.json`)
  writeStateSync(sign, JSON.stringify(getOwnHolder()))
  try {
    await library.serveSchedules(scheduler, store, {
      signal: io.signal,
      once: once === true,
      fault: ({ file, reason }) => say(io, 'warning', toOneLine(`${file} is not used: ${reason}`)),
    })
  } finally {
    rmSync(sign, { force: true })
  }
}

/** Runs `schedule run`: runs a task now and prints its answer. */
export async function runSchedule(here: ScheduleVerb, id: string, form: OutputForm): Promise<void> {
  const { io, library, store } = here
  requireEnabled(here)
  const task = store.find(id)
  const ledger = new library.RunLedger(store, clock)
  const claim = await ledger.beginNow(task)
  const beats = setInterval(() => ledger.claims.beat(claim), 15_000)
  const end = await library
    .launchRun(task, claim, io.signal, await resolveRunPlace(here))
    .finally(() => clearInterval(beats))
  const known: RunEnd =
    io.signal.aborted && end.status !== 'success'
      ? { ...end, status: 'cancelled', reason: 'A person cancelled the run.' }
      : end
  await ledger.end(claim, known)
  if (known.status !== 'success') here.code = 1
  const answer = readAnswer(claim.dir)
  if (shouldPrintJson(io, form))
    io.stdout.write(
      formatDocument({ task: task.id, run: claim.run, ...known, dir: claim.dir, ...(answer !== '' && { answer }) }),
    )
  else
    io.stdout.write(
      `${known.status === 'success' ? answer || 'Done.' : toOneLine(`${known.status}: ${known.reason ?? ''}`)}\n`,
    )
}

function readAnswer(dir: string): string {
  try {
    return readFileSync(join(dir, 'last-message.txt'), 'utf8').trimEnd()
  } catch {
    return ''
  }
}

/** Runs `schedule runs`: prints runs and skipped times. */
export function printRuns(here: ScheduleVerb, id: string, form: OutputForm): void {
  const { io, library, store } = here
  const task = store.find(id)
  const ledger = new library.RunLedger(store, clock)
  const [runs, skipped] = [ledger.listRuns(task.id), ledger.listSkipped(task.id)]
  if (shouldPrintJson(io, form)) return void io.stdout.write(formatDocument({ runs, skipped }))
  const rows = [
    ...runs.map(({ base_run_at, run, status = 'running', attempt, reason }) => [
      base_run_at,
      run,
      `${status}${attempt === 2 ? ', second attempt' : ''}`,
      reason ?? '',
    ]),
    ...skipped.map(({ from, to, reason }) => [from, '-', 'skipped', from === to ? reason : `${reason}, up to ${to}`]),
  ].sort(([a], [b]) => (a! > b! ? -1 : 1))
  io.stdout.write(
    rows.length === 0
      ? 'The schedule never ran.\n'
      : formatColumns(rows.map((row) => row.map((text) => toOneLine(text!)))),
  )
}

/** Runs `schedule status`: prints serving processes and the next run. */
export function printStatus(here: ScheduleVerb, form: OutputForm): void {
  const { io, kernel, library, store } = here
  const { enabled } = kernel.settings.automation.scheduled_tasks
  const { tasks, faults } = store.list()
  const now = Date.now()
  const coming = tasks.flatMap((task) => (task.enabled ? (store.loadState(task, now).next_run_at ?? []) : [])).sort()
  const known = {
    enabled,
    serving: listServing(join(store.state, 'serving')).map(({ pid, host }) => ({ pid, host })),
    schedules: tasks.length,
    paused: tasks.filter((task) => !task.enabled).length,
    damaged: faults.length,
    running: new library.RunLedger(store, clock).claims
      .list()
      .map(({ task, run, begun_at }) => ({ task, run, begun_at })),
    ...(coming[0] !== undefined && { next_run_at: coming[0] }),
  }
  if (shouldPrintJson(io, form)) return void io.stdout.write(formatDocument(known))
  const served =
    known.serving.length === 0
      ? 'no: `vtcode schedule serve` runs due tasks'
      : `by process ${known.serving.map(({ pid }) => pid).join(', ')}`
  const off = enabled ? '' : ', and automation.scheduled_tasks.enabled is false'
  const count =
    `${known.schedules}, ${known.paused} of them paused` +
    `${known.damaged === 0 ? '' : `, and ${known.damaged} damaged files`}`
  io.stdout.write(
    formatColumns([
      ['served', `${served}${off}`],
      ['schedules', count],
      ['running', `${known.running.length}`],
      ['next', known.next_run_at ?? 'nothing'],
    ]),
  )
}

/** Lists processes that serve now; removes files of ended ones. */
function listServing(folder: string): Holder[] {
  makeFolder(folder, 0o700)
  return readdirSync(folder).flatMap((name) => {
    const file = join(folder, name)
    const holder = readHolder(file)
    if (holder && isHolderAlive(holder)) return [holder]
    rmSync(file, { force: true })
    return []
  })
}

function readHolder(file: string): Holder | undefined {
  try {
    const holder: unknown = JSON.parse(readFileSync(file, 'utf8'))
    return isHolder(holder) ? holder : undefined
  } catch {
    return undefined
  }
}

/**
 * Runs `install-service` or `uninstall-service`: writes or removes a file and prints the commands to switch it on or
 * off.
 */
export function changeAutostart(here: ScheduleVerb, install: boolean, form: OutputForm): void {
  const { io, kernel, library, store } = here
  const home = io.env['HOME'] ?? ''
  const command = { node: process.execPath, program: programFile('core/bin.cjs'), home: kernel.inspection.home }
  const unit =
    process.platform === 'darwin'
      ? library.createLaunchAgent(command, home)
      : library.createSystemdUnit(command, io.env['XDG_CONFIG_HOME'] || join(home, '.config'))
  const there = readText(unit.file)
  if (there !== undefined && !library.isServiceText(there)) {
    say(io, 'error', `${unit.file} was not written by vtcode; it was not changed.`)
    here.code = 1
    return
  }
  if (install) {
    makeFolder(store.tasks, 0o700)
    writeStateSync(unit.file, unit.text, { mode: 0o644 })
  } else rmSync(unit.file, { force: true })
  const { enabled } = kernel.settings.automation.scheduled_tasks
  if (install && !enabled)
    say(io, 'warning', 'The service cannot start: set automation.scheduled_tasks.enabled: true in your settings.')
  if (shouldPrintJson(io, form))
    return void io.stdout.write(
      formatDocument({
        file: unit.file,
        ...(install ? { text: unit.text, enable: unit.enable } : { disable: unit.disable }),
      }),
    )
  const steps = (install ? unit.enable : unit.disable).map((line) => `  ${line}\n`).join('')
  io.stdout.write(
    install
      ? `${unit.text}\nWritten to ${unit.file}. To switch it on:\n${steps}`
      : `${unit.file} is removed. To switch it off:\n${steps}`,
  )
}

function readText(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch {
    return undefined
  }
}
