import { appendFileSync, writeFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import { refusal } from '../shared/agent/faces/refusal.js'
import { readTask } from '../shared/agent/faces/streams.js'
import { say } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

interface Flags {
  json?: true
  model?: string
  events?: string
  lastMessageFile?: string
  maxTurns?: number
  maxBudgetUsd?: number
  quiet?: true
}

/** `vtcode exec`: one task to its outcome. */
export default async function exec(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('exec', 'Works on a task to its end. The answer goes to stdout, what happens to stderr; the exit code is 0 only for a success.', io)
    .argument('[task...]', 'what to do; `-` or nothing reads it from stdin')
    .option('--json', 'print every event as one line of JSON instead of the answer')
    .option('--model <id>', '<provider>/<model>')
    .option('--events <file>', 'append every event to a file as well')
    .option('--last-message-file <file>', 'write the answer to a file as well')
    .option('--max-turns <n>', 'turns of this run', number)
    .option('--max-budget-usd <usd>', 'what the run may cost', number)
    .option('--quiet', 'print no progress')
    .action(async (words: string[], flags: Flags) => {
      const task = await readTask(words, io)
      if (task === '') {
        say(io, 'error', 'Say what to do: vtcode exec "<task>".')
        code = 2
      } else code = await work(kernel, task, flags, io)
    })
  return run(command, argv, () => code)
}

async function work(kernel: Kernel, task: string, flags: Flags, io: Io): Promise<number> {
  const [{ createAgent }, { jsonLines }, { progress, summary }] = await Promise.all([
    import('../shared/agent/index.js'),
    import('../shared/agent/faces/streams.js'),
    import('../shared/agent/faces/progress.js'),
  ])
  const show = flags.json ? jsonLines(io) : flags.quiet ? () => {} : progress(io)
  try {
    const agent = await createAgent(kernel, {
      ...(flags.model !== undefined && { model: flags.model }),
      env: io.env,
      surface: 'exec',
      limits: { ...(flags.maxTurns !== undefined && { max_turns: flags.maxTurns }), ...(flags.maxBudgetUsd !== undefined && { max_budget_usd: flags.maxBudgetUsd }) },
      onEvent: async (event) => {
        if (flags.events !== undefined) appendFileSync(flags.events, `${JSON.stringify({ schema_version: '1.0.0', event })}\n`)
        await show(event)
      },
    })
    try {
      const outcome = await agent.run(task, { signal: io.signal })
      if (!flags.json && outcome.text !== '' && !outcome.error) io.stdout.write(`${outcome.text}\n`)
      if (!flags.json && !flags.quiet) io.stderr.write(`${summary(outcome)}\n`)
      else if (!flags.json && outcome.error) say(io, 'error', summary(outcome))
      if (flags.lastMessageFile !== undefined) writeFileSync(flags.lastMessageFile, outcome.text)
      return outcome.exit_code
    } finally {
      await agent.close()
    }
  } catch (error) {
    return refusal(kernel, error, io)
  }
}

function number(text: string): number {
  const value = Number(text)
  if (!Number.isFinite(value) || value < 0) throw new InvalidArgumentError('a number is needed.')
  return value
}
