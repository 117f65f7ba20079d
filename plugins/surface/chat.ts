import { createInterface } from 'node:readline'
import type { Io, Kernel } from '../../core/index.js'
import { approver } from '../shared/approver.js'
import { refusal } from '../shared/agent/faces/refusal.js'
import { asker } from '../shared/questions.js'
import { interactive, say } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

const help = `/help shows this, /mode says the mode, /quit ends; Ctrl-C ends the chat, which can be resumed.
`

/** `vtcode chat`: line by line, one turn for each. */
export default async function chat(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('chat', 'Talks with a model that uses the tools, line by line.', io)
    .option('--model <id>', '<provider>/<model>')
    .option('--resume <session>', 'go on with a session: its id, or last')
    .option('--plain', 'no decoration')
    .action(async (flags: { model?: string; resume?: string; plain?: true }) => {
      code = await talk(kernel, flags, io)
    })
  return run(command, argv, () => code)
}

async function talk(kernel: Kernel, { model, resume, plain }: { model?: string; resume?: string; plain?: true }, io: Io): Promise<number> {
  const [{ createAgent }, { progress, summary }] = await Promise.all([import('../shared/agent/index.js'), import('../shared/agent/faces/progress.js')])
  const people = interactive(io) ? { providers: { approve: approver(io), ask: asker(io) } } : {}
  const show = plain ? () => {} : progress(io)
  try {
    const agent = await createAgent(kernel, { env: io.env, surface: 'chat', ...(model !== undefined && { model }), ...(resume !== undefined && { resume }), onEvent: show, ...people })
    try {
      for await (const line of lines(io)) {
        if (line === '/quit' || line === '/exit') break
        if (line === '/help') io.stderr.write(help)
        else if (line === '/mode') io.stderr.write(`${kernel.settings.policy.mode}\n`)
        else if (line.startsWith('/')) say(io, 'error', `There is no command ${line.split(' ')[0]}. ${help}`)
        else {
          const outcome = await agent.run(line, { signal: io.signal })
          if (!outcome.error && outcome.text !== '') io.stdout.write(`${outcome.text}\n`)
          if (outcome.outcome_code !== 'success') io.stderr.write(`${summary(outcome)}\n`)
        }
        if (io.signal.aborted) return 130
      }
    } finally {
      await agent.close()
    }
    return 0
  } catch (error) {
    return refusal(kernel, error, io)
  }
}

/** What is typed, a line at a time; the terminal is left alone while an answer is under way, so that questions can be asked there. */
async function* lines(io: Io): AsyncGenerator<string> {
  if (interactive(io)) {
    for (;;) {
      const line = await new Promise<string | undefined>((resolve) => {
        const prompt = createInterface({ input: io.stdin, output: io.stderr })
        prompt.once('close', () => resolve(undefined))
        io.signal.addEventListener('abort', () => prompt.close(), { once: true })
        prompt.question('> ', (text) => {
          resolve(text)
          prompt.close()
        })
      })
      if (line === undefined) return
      if (line.trim() !== '') yield line.trim()
    }
  }
  for await (const line of createInterface({ input: io.stdin })) if (line.trim() !== '') yield line.trim()
}
