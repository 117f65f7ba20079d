import { createInterface } from 'node:readline'
import type { Io, Kernel } from '../../core/index.js'
import { refusal } from '../shared/agent/faces/refusal.js'
import { chosen, given, withAgent, withResume, type SessionFlags } from '../shared/agent/faces/session.js'
import type { Agent } from '../shared/agent/index.js'
import { interactive, say } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

const help = `/help shows this, /mode says the mode, /compact [what matters] shortens the conversation, /quit ends. Ctrl-C stops what is under way.
`

interface Flags extends SessionFlags {
  plain?: true
  quiet?: true
}

/** `vtcode chat`: line by line, one turn for each. */
export default async function chat(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = withResume(verb('chat', 'Talks with a model that uses the tools, line by line.', io))
    .option('--plain', 'no decoration')
    .option('--quiet', 'print no progress')
    .action(async (flags: Flags) => {
      code = await talk(kernel, flags, io)
    })
  return run(command, argv, () => code)
}

async function talk(kernel: Kernel, flags: Flags, io: Io): Promise<number> {
  const { plain, quiet, context } = flags
  const { progress, summary } = await import('../shared/agent/faces/progress.js')
  const onEvent = plain || quiet ? () => {} : progress(io)
  return withAgent(kernel, io, { verb: 'interactive', ...given({ asked: context }) }, { surface: 'chat', ...chosen(flags), onEvent }, async (agent) => {
    for await (const line of lines(io)) {
      const [word, ...rest] = line.split(' ')
      if (word === '/quit' || word === '/exit') break
      if (word === '/help') io.stderr.write(help)
      else if (word === '/mode') io.stderr.write(`${kernel.settings.policy.mode}\n`)
      else if (word === '/compact') await shorten(kernel, agent, rest.join(' '), io)
      else if (line.startsWith('/')) say(io, 'error', `There is no command ${word}. ${help}`)
      else {
        const outcome = await turn(io, (signal) => agent.run(line, { signal }))
        if (!outcome.error && outcome.text !== '') io.stdout.write(`${outcome.text}\n`)
        if (outcome.outcome_code !== 'success') io.stderr.write(`${summary(outcome)}\n`)
      }
      if (io.signal.aborted) return 130
    }
    return 0
  })
}

/** Shortens the conversation; where that cannot be, the chat goes on. */
async function shorten(kernel: Kernel, agent: Agent, focus: string, io: Io): Promise<void> {
  try {
    const done = await turn(io, (signal) => agent.compact(focus || undefined, { signal }))
    io.stderr.write(done ? 'The conversation is shorter now.\n' : 'There is nothing to shorten.\n')
  } catch (error) {
    if ((error as Error).name === 'AbortError') io.stderr.write('cancelled\n')
    else refusal(kernel, error, io)
  }
}

/** What is under way ends with Ctrl-C, and the prompt comes back; without a person the program ends with it. */
async function turn<T>(io: Io, what: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController()
  if (interactive(io)) io.interrupts?.(() => stop.abort())
  try {
    return await what(AbortSignal.any([io.signal, stop.signal]))
  } finally {
    io.interrupts?.(undefined)
  }
}

/** What is typed, a line at a time; the terminal is left alone while an answer is under way, so that questions can be asked there. */
async function* lines(io: Io): AsyncGenerator<string> {
  if (!interactive(io)) {
    for await (const line of createInterface({ input: io.stdin })) if (line.trim() !== '') yield line.trim()
    return
  }
  for (let line = await prompt(io); line !== undefined; line = await prompt(io)) if (line.trim() !== '') yield line.trim()
}

/** One line from a person. Ctrl-C empties it; on an empty one the first warns and the second ends, as does the end of input. */
function prompt(io: Io): Promise<string | undefined> {
  return new Promise((resolve) => {
    const reader = createInterface({ input: io.stdin, output: io.stderr })
    const end = () => reader.close()
    let armed = false
    reader.on('SIGINT', () => {
      if (reader.line === '' && armed) return end()
      armed = reader.line === ''
      io.stderr.write(armed ? '\nCtrl-C once more ends the chat.\n> ' : '\n> ')
      reader.write(null, { ctrl: true, name: 'u' })
    })
    reader.once('close', () => {
      io.signal.removeEventListener('abort', end)
      resolve(undefined)
    })
    io.signal.addEventListener('abort', end, { once: true })
    reader.question('> ', (text) => {
      resolve(text)
      end()
    })
  })
}
