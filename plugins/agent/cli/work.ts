import { fstatSync, writeFileSync } from 'node:fs'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { omitUndefined } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { formatForStdout, toOneLine, say } from '../../lib/terminal/index.js'
import { startAlarm, type EventSink, type RunOutcome } from '../base/index.js'
import { countItem, type RunChanges } from '../events/index.js'
import type { Agent, AgentOptions } from '../index.js'
import { readImages, addImageOption, type ImageFlags } from './images.js'
import { openStore, readLeaseVariable, type LeaseFence } from '../session/index.js'
import { toAgentOptions, withAgent, type SessionFlags, type VerbContext } from './session_flags.js'

/** The common flags of the commands that run a task. */
export interface WorkFlags extends SessionFlags, ImageFlags {
  json?: true
  deltas?: true
  events?: string
  lastMessageFile?: string
  maxTurns?: number
  maxBudgetUsd?: number
  verify?: string[]
  goal?: string
  plan?: true
}
export const addWorkOptions = (command: Command): Command =>
  addImageOption(command)
    .option('--json', 'print every event as a line of JSON')
    .addOption(new Option('--deltas', 'print text deltas too').implies({ json: true }))
    .option('--events <file>', 'append every event to a file')
    .option('--last-message-file <file>', 'write the answer to a file')
    .option('--verify <command>', 'command that must pass; naming it allows it', (one: string, all: string[] = []) => [
      ...all,
      one,
    ])
    .option('--max-turns <n>', 'maximum turns of this run', parseAmount)
    .option('--max-budget-usd <usd>', 'maximum cost of this run', parseAmount)

// The time for a cancelled run to end; after it the program exits anyway.
const END_TIMEOUT_MS = 5000

/** Runs a task or continues a session, and prints the progress. Returns the exit code. */
export async function work(
  kernel: Kernel,
  task: string | undefined,
  flags: WorkFlags,
  io: Io,
  { verb, ...options }: AgentOptions & Pick<VerbContext, 'verb'>,
): Promise<number> {
  const { printLines } = await import('./streams.js')
  const { formatNotApplied, formatSummary, createFileSink } = await import('../events/index.js')
  const show = await chooseSink(flags, verb, io)
  const quiet = flags.json ?? io.quiet ?? false
  const copy = flags.events === undefined ? () => {} : createFileSink(flags.events)
  const done: RunChanges = { files: new Set(), commands: 0 }
  const fence = readLeaseVariable(io.env)
  const signal = fence ? AbortSignal.any([io.signal, fence.watch()]) : io.signal
  let steps = 0
  const onEvent: EventSink = async (event) => {
    if (event.type === 'item.completed') countItem(done, event.item)
    await copy(event)
    await show(event)
    if (event.type === 'step.completed') await fence?.waitForSave((steps += 1))
  }
  // A file that cannot be written is an error before the work, not after it.
  if (!writeAnswer(flags.lastMessageFile, '', 'a', io)) return 2
  const whole = await attachImages(task, flags, io)
  if (whole === 'refused') return 2
  const limits = omitUndefined({ max_turns: flags.maxTurns, max_budget_usd: flags.maxBudgetUsd })
  return withAgent(
    kernel,
    io,
    { verb, ...omitUndefined({ asked: flags.context }) },
    {
      ...toAgentOptions(flags),
      ...(fence && useFence(fence)),
      limits,
      ...omitUndefined({ verify: flags.verify }),
      onEvent,
      quiet,
      ...options,
    },
    async (agent) => {
      if (flags.plan) await agent.setMode('plan')
      await setGoal(agent, flags, io)
      const outcome = await Promise.race([
        flags.deltas ? printLines(agent.stream(whole, { signal }), io) : agent.run(whole, { signal }),
        waitAfterAbort(signal),
      ])
      if (outcome === undefined) return 130
      const notApplied = formatNotApplied(outcome)
      if (!flags.json) printOutcome(outcome, notApplied, formatSummary(outcome, done), io)
      const answer = [outcome.text, notApplied.trimEnd()].filter((text) => text !== '').join('\n')
      return writeAnswer(flags.lastMessageFile, answer, 'w', io) ? outcome.exit_code : 1
    },
  )
}

/** Opens sessions that are written only while a worker has the lease of the run. */
const useFence = (fence: LeaseFence): Pick<AgentOptions, 'providers'> => ({
  providers: {
    session: { kept: true, open: (workspace, id, how) => openStore(workspace, id, { ...how, fence }) },
  },
})

/** Chooses the sink for progress. In `exec` the component `logging` prints it. */
async function chooseSink({ deltas, json }: WorkFlags, verb: string, io: Io): Promise<EventSink> {
  if (deltas || (!json && (io.quiet || verb === 'exec'))) return () => {}
  return json
    ? (await import('./streams.js')).createJsonSink(io)
    : (await import('../events/index.js')).createProgressSink(io)
}

async function attachImages(task: string | undefined, flags: WorkFlags, io: Io) {
  const images = await readImages(flags, io)
  if (!images) return 'refused'
  if (images.length === 0) return task
  if (task !== undefined) return { text: task, images }
  say(io, 'error', '--image has no task. Add a task to the command.')
  return 'refused'
}

async function setGoal(agent: Agent, { goal, verify }: WorkFlags, io: Io): Promise<void> {
  if (goal === undefined) return
  const before = agent.goal
  await agent.setGoal(goal, verify)
  if (before !== undefined) say(io, 'info', `The new goal replaces: ${toOneLine(before)}`)
}

function printOutcome({ text, error, exit_code }: RunOutcome, notApplied: string, summary: string, io: Io): void {
  if (text !== '' && text !== error?.message) io.stdout.write(`${formatForStdout(io, text)}\n`)
  printNotApplied(notApplied, io)
  if (!io.quiet) io.stderr.write(`${summary}\n`)
  else if (exit_code !== 0) say(io, 'error', summary)
}

/**
 * Prints the refused changes of a run on stderr, and after the answer on stdout, because they correct it. Where both
 * lead to one terminal or file they are printed once.
 */
export function printNotApplied(lines: string, { stdout, stderr }: Io): void {
  stderr.write(lines)
  if (!isSameFile(stdout, stderr)) stdout.write(lines)
}

function isSameFile(...streams: readonly object[]): boolean {
  const [one, other] = streams.map((stream) => ('fd' in stream ? fstatSync(stream.fd as number) : undefined))
  return one !== undefined && one.dev === other?.dev && one.ino === other.ino
}

/** Writes the answer to the file of the flag, if any. Returns `false` after an error. */
function writeAnswer(file: string | undefined, text: string, flag: 'w' | 'a', io: Io): boolean {
  if (file === undefined) return true
  try {
    writeFileSync(file, text, { flag })
    return true
  } catch (error) {
    say(io, 'error', `--last-message-file ${file} cannot be written: ${(error as Error).message}`)
    return false
  }
}

/** Resolves `END_TIMEOUT_MS` after the signal aborts. */
function waitAfterAbort(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const wait = () => void startAlarm(END_TIMEOUT_MS, () => resolve(undefined))
    if (signal.aborted) wait()
    else signal.addEventListener('abort', wait, { once: true })
  })
}

function parseAmount(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('use a number of 0 or more.')
  return value
}
