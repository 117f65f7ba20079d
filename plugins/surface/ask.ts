import { Option } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import type { Place } from '../shared/agent/dictionary/table.js'
import { given, withAgent, withContext } from '../shared/agent/faces/session.js'
import { readTask } from '../shared/agent/faces/streams.js'
import { say } from '../shared/terminal.js'
import { run, verb } from '../shared/verbs.js'

interface Flags {
  tools: boolean
  outputFormat: 'text' | 'json'
  code?: true
  model?: string
  context?: Place
}

/** `vtcode ask`: one question, one answer; nothing is changed. */
export default async function ask(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = withContext(verb('ask', 'Answers a question about the workspace; reads, and changes nothing.', io))
    .argument('[question...]', '`-` or nothing reads it from stdin')
    .option('--model <id>', '<provider>/<model>')
    .option('--no-tools', 'answer without looking')
    .option('--code', 'print the first block of code of the answer only')
    .addOption(new Option('--output-format <format>').choices(['text', 'json']).default('text'))
    .action(async (words: string[], flags: Flags) => {
      const question = await readTask(words, io)
      if (question === '') {
        say(io, 'error', 'Say what you want to know: vtcode ask "<question>".')
        code = 2
      } else code = await answer(kernel, question, flags, io)
    })
  return run(command, argv, () => code)
}

function answer(kernel: Kernel, question: string, { tools, outputFormat, code, model, context }: Flags, io: Io): Promise<number> {
  return withAgent(kernel, io, { verb: 'exec', ...given({ asked: context }) }, { surface: 'ask', ...given({ model }), tools, quiet: true }, async (agent) => {
    const { text, usage, total_cost_usd: cost_usd, session_id, error, exit_code } = await agent.run(question, { signal: io.signal })
    if (error) say(io, 'error', `${error.code}: ${error.message} ${error.hint}`)
    const response = code ? (/```[^\n]*\n([\s\S]*?)```/.exec(text)?.[1] ?? text) : text
    if (outputFormat === 'json') {
      const [provider, ...name] = agent.model.split('/')
      io.stdout.write(`${JSON.stringify({ response, provider, model: name.join('/'), usage, cost_usd, session_id })}\n`)
    } else if (!error) io.stdout.write(response.endsWith('\n') ? response : `${response}\n`)
    return exit_code
  })
}
