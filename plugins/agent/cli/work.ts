import { writeFileSync } from 'node:fs'
import { InvalidArgumentError, Option, type Command } from 'commander'
import { definedOnly } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { formatForStdout, toOneLine, say } from '../../lib/terminal/index.js'
import { alarm, type EventSink, type RunOutcome } from '../base/index.js'
import { countItem, type RunChanges } from '../events/index.js'
import type { Agent, AgentOptions } from '../index.js'
import { givenImages, withImages, type ImageFlags } from './images.js'
import { sessionOptions, withAgent, type SessionFlags, type VerbContext } from './session_flags.js'

/** What the verbs that work on a task have in common. */
export interface Flags extends SessionFlags, ImageFlags {
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
export const withFlags = (command: Command): Command =>
  withImages(command)
    .option('--json', 'every event as a line of JSON')
    .addOption(new Option('--deltas', 'and what is said between them').implies({ json: true }))
    .option('--events <file>', 'append every event to a file')
    .option('--last-message-file <file>', 'write the answer to a file')
    .option('--verify <command>', 'has to pass; naming it agrees to it', (one: string, all: string[] = []) => [
      ...all,
      one,
    ])
    .option('--max-turns <n>', 'turns of this run', number)
    .option('--max-budget-usd <usd>', 'what the run may cost', number)

// What a cancelled run may take to end; then the program ends anyway.
const patience_ms = 5000

/** Works on a task, or goes on with a session, and shows it. Returns the exit code. */
export async function work(
  kernel: Kernel,
  task: string | undefined,
  flags: Flags,
  io: Io,
  { verb, ...options }: AgentOptions & Pick<VerbContext, 'verb'>,
): Promise<number> {
  const { printLines } = await import('./streams.js')
  const { notAppliedLines, summary, copyTo } = await import('../events/index.js')
  const show = await chooseSink(flags, verb, io)
  const quiet = flags.json ?? io.quiet ?? false
  const copy = flags.events === undefined ? () => {} : copyTo(flags.events)
  const done: RunChanges = { files: new Set(), commands: 0 }
  const onEvent: EventSink = async (event) => {
    if (event.type === 'item.completed') countItem(done, event.item)
    await copy(event)
    await show(event)
  }
  // A file that cannot be written is an error before the work, not after it.
  if (!keep(flags.lastMessageFile, '', 'a', io)) return 2
  const whole = await withGivenImages(task, flags, io)
  if (whole === 'refused') return 2
  const limits = definedOnly({ max_turns: flags.maxTurns, max_budget_usd: flags.maxBudgetUsd })
  return withAgent(
    kernel,
    io,
    { verb, ...definedOnly({ asked: flags.context }) },
    { ...sessionOptions(flags), limits, ...definedOnly({ verify: flags.verify }), onEvent, quiet, ...options },
    async (agent) => {
      if (flags.plan) await agent.setMode('plan')
      await setGoal(agent, flags, io)
      const outcome = await Promise.race([
        flags.deltas
          ? printLines(agent.stream(whole, { signal: io.signal }), io)
          : agent.run(whole, { signal: io.signal }),
        gaveUp(io.signal),
      ])
      if (outcome === undefined) return 130
      if (!flags.json) printOutcome(outcome, notAppliedLines(outcome), summary(outcome, done), io)
      return keep(flags.lastMessageFile, outcome.text, 'w', io) ? outcome.exit_code : 1
    },
  )
}

/** Without a person in front of it, progress is part of the log. */
async function chooseSink({ deltas, json }: Flags, verb: string, io: Io): Promise<EventSink> {
  if (deltas || (!json && (io.quiet || verb === 'exec'))) return () => {}
  return json ? (await import('./streams.js')).jsonEventSink(io) : (await import('../events/index.js')).progress(io)
}

async function withGivenImages(task: string | undefined, flags: Flags, io: Io) {
  const images = await givenImages(flags, io)
  if (!images) return 'refused'
  if (images.length === 0) return task
  if (task !== undefined) return { text: task, images }
  say(io, 'error', '--image belongs to a task; say one.')
  return 'refused'
}

async function setGoal(agent: Agent, { goal, verify }: Flags, io: Io): Promise<void> {
  if (goal === undefined) return
  const before = agent.goal
  await agent.setGoal(goal, verify)
  if (before !== undefined) say(io, 'info', `This takes the place of the goal: ${toOneLine(before)}`)
}

function printOutcome({ text, error, exit_code }: RunOutcome, notApplied: string, summary: string, io: Io): void {
  if (text !== '' && text !== error?.message) io.stdout.write(`${formatForStdout(io, text)}\n`)
  io.stderr.write(notApplied)
  if (!io.quiet) io.stderr.write(`${summary}\n`)
  else if (exit_code !== 0) say(io, 'error', summary)
}

/** Writes the answer where a file was named. Returns false where that failed. */
function keep(file: string | undefined, text: string, flag: 'w' | 'a', io: Io): boolean {
  if (file === undefined) return true
  try {
    writeFileSync(file, text, { flag })
    return true
  } catch (error) {
    say(io, 'error', `--last-message-file ${file} cannot be written: ${(error as Error).message}`)
    return false
  }
}

/** Resolves some time after the signal aborts. */
function gaveUp(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    const wait = () => void alarm(patience_ms, () => resolve(undefined))
    if (signal.aborted) wait()
    else signal.addEventListener('abort', wait, { once: true })
  })
}

function number(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('a number is needed.')
  return value
}
