import { Option } from 'commander'
import type { Io, Kernel } from '../../core/index.js'
import { definedOnly, givenImages, notAppliedLines, readTask, reasonOf, sessionOptions, Voice, withAgent, withImages, withResume, type ImageFlags, type SessionFlags } from '../agent/cli/index.js'
import type { AgentOptions } from '../agent/index.js'
import { documentText, fitTerminal, runCommand, say, verb } from '../lib/terminal/index.js'

interface Flags extends SessionFlags, ImageFlags {
  tools: boolean
  outputFormat: 'text' | 'json'
  json?: true
  code?: true
}

/** `vtcode ask`: one question, one answer; nothing is changed. */
export default async function ask(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = withImages(withResume(verb('ask', 'Answers a question about the workspace; reads, and changes nothing.', io)))
    .argument('[question...]', '`-` or nothing reads it from stdin')
    .option('--no-tools', 'answer without looking')
    .option('--code', 'print the first block of code of the answer only')
    .addOption(new Option('--output-format <format>').choices(['text', 'json']).default('text'))
    .option('--json', 'the same as --output-format json')
    .action(async (words: string[], flags: Flags) => {
      const question = await readTask(words, io)
      if (question === '') {
        say(io, 'error', 'Say what you want to know: vtcode ask "<question>".')
        code = 2
      } else code = await answer(kernel, question, flags, io)
    })
  return runCommand(command, argv, () => code)
}

async function answer(kernel: Kernel, question: string, flags: Flags, io: Io): Promise<number> {
  const { mode } = kernel.settings.policy
  if (mode !== 'plan') {
    say(io, 'error', `vtcode ask changes nothing, so it works in mode plan and in no other; --mode ${mode} does not belong to it. What changes something is \`vtcode exec --mode ${mode} "<task>"\`.`)
    return 2
  }
  const images = await givenImages(flags, io)
  if (!images) return 2
  const { tools, outputFormat, json, code, context } = flags
  const whole = json || outputFormat === 'json' || code || !io.stdout.isTTY
  const voice = whole ? undefined : new Voice(io)
  const heard: AgentOptions = voice ? { onDelta: voice.onDelta, onEvent: (event) => void voice.ended(event) } : {}
  return withAgent(kernel, io, { verb: 'exec', ...definedOnly({ asked: context }) }, { surface: 'ask', ...sessionOptions(flags), tools, quiet: true, ...heard }, async (agent) => {
    const outcome = await agent.run(images.length > 0 ? { text: question, images } : question, { signal: io.signal })
    const { text, usage, total_cost_usd: cost_usd, session_id, error, exit_code, not_applied } = outcome
    const response = code ? (/```[^\n]*\n([\s\S]*?)```/.exec(text)?.[1] ?? text) : text
    if (json || outputFormat === 'json') {
      const [provider, ...name] = agent.model.split('/')
      io.stdout.write(documentText({ response, provider, model: name.join('/'), usage, cost_usd, session_id, ...(not_applied && { not_applied }) }))
    } else if (response !== '' && response !== error?.message && response !== voice?.last) io.stdout.write(fitTerminal(io, response.endsWith('\n') ? response : `${response}\n`))
    io.stderr.write(notAppliedLines(outcome))
    const reason = reasonOf(outcome)
    if (reason !== undefined) say(io, 'error', reason)
    return not_applied && exit_code === 0 ? 1 : exit_code
  })
}
