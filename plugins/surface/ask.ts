import { accessSync, constants, existsSync } from 'node:fs'
import { join } from 'node:path'
import { Option } from 'commander'
import { omitUndefined } from '../../core/shapes/index.js'
import type { Io, Kernel } from '../../core/index.js'
import {
  readImages,
  formatNotApplied,
  printNotApplied,
  readTask,
  describeReason,
  toAgentOptions,
  AnswerPrinter,
  withAgent,
  addImageOption,
  addResumeOptions,
  type ImageFlags,
  type SessionFlags,
} from '../agent/cli/index.js'
import type { Agent, AgentOptions } from '../agent/index.js'
import { formatDocument, formatForStdout, runCommand, say, createVerb, toOneLine } from '../lib/terminal/index.js'

interface Flags extends SessionFlags, ImageFlags {
  tools: boolean
  outputFormat: 'text' | 'json'
  json?: true
  code?: true
}

/** `vtcode ask`: answers one question and changes nothing. */
export default async function ask(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = addImageOption(
    addResumeOptions(createVerb('ask', 'Answer a question about the workspace. Reads only, changes nothing.', io)),
  )
    .argument('[question...]', 'the question; `-` or nothing: from stdin')
    .option('--no-tools', 'answer without reading the workspace')
    .option('--code', 'print only the first code block of the answer')
    .addOption(new Option('--output-format <format>').choices(['text', 'json']).default('text'))
    .option('--json', 'short for --output-format json')
    .action(async (words: string[], flags: Flags) => {
      const question = await readTask(words, io)
      if (question === '') {
        say(io, 'error', 'The question is empty. Run vtcode ask "<question>".')
        code = 2
      } else code = await answerQuestion(kernel, question, flags, io)
    })
  return runCommand(command, argv, () => code)
}

const extractCode = (text: string): string => /```[^\n]*\n([\s\S]*?)```/.exec(text)?.[1] ?? text

function toAnswerDocument(response: string, id: string, outcome: Awaited<ReturnType<Agent['run']>>) {
  const { usage, total_cost_usd: cost_usd, session_id, not_applied } = outcome
  const [provider, ...name] = id.split('/')
  return { response, provider, model: name.join('/'), usage, cost_usd, session_id, ...omitUndefined({ not_applied }) }
}

function printText(text: string, io: Io): void {
  if (text !== '') io.stdout.write(formatForStdout(io, text.endsWith('\n') ? text : `${text}\n`))
}

/** Returns the options of the session, which is not kept where the workspace cannot be written. */
function toSessionOptions(kernel: Kernel, flags: SessionFlags, io: Io): AgentOptions {
  const options = toAgentOptions(flags)
  const needsDisk = options.resume !== undefined || options.session_id !== undefined || flags.keep !== undefined
  if (needsDisk || canWrite(kernel.workspace)) return options
  if (!io.quiet) say(io, 'info', `${toOneLine(kernel.workspace)} cannot be written, so the session is not kept.`)
  return { ...options, providers: { session: 'memory' } }
}

function canWrite(workspace: string): boolean {
  try {
    const own = join(workspace, '.vtcode')
    accessSync(existsSync(own) ? own : workspace, constants.W_OK)
    return true
  } catch {
    return false
  }
}

/** Prints refused changes; data and code on stdout stay alone. */
function printRefusals(outcome: Awaited<ReturnType<Agent['run']>>, isData: boolean | undefined, io: Io): void {
  const lines = formatNotApplied(outcome)
  if (isData) io.stderr.write(lines)
  else printNotApplied(lines, io)
}

async function answerQuestion(kernel: Kernel, question: string, flags: Flags, io: Io): Promise<number> {
  const { mode } = kernel.settings.policy
  if (mode !== 'plan') {
    say(
      io,
      'error',
      `vtcode ask cannot use --mode ${mode}: it changes nothing and always runs in mode plan. ` +
        `To change files, run \`vtcode exec --mode ${mode} "<task>"\`.`,
    )
    return 2
  }
  const images = await readImages(flags, io)
  if (!images) return 2
  const { tools, outputFormat, json, code, context } = flags
  const asJson = json ?? outputFormat === 'json'
  const isData = asJson || code
  const whole = isData || !io.stdout.isTTY
  const voice = whole ? undefined : new AnswerPrinter(io)
  const listeners: AgentOptions = voice
    ? { onDelta: voice.onDelta, onEvent: (event) => void voice.finishText(event) }
    : {}
  return withAgent(
    kernel,
    io,
    { verb: 'exec', ...omitUndefined({ asked: context }) },
    { surface: 'ask', ...toSessionOptions(kernel, flags, io), tools, quiet: true, ...listeners },
    async (agent) => {
      const outcome = await agent.run(images.length > 0 ? { text: question, images } : question, { signal: io.signal })
      const { text, exit_code, not_applied } = outcome
      const response = code ? extractCode(text) : text
      if (asJson) io.stdout.write(formatDocument(toAnswerDocument(response, agent.model, outcome)))
      else if (![outcome.error?.message, voice?.last].includes(response)) printText(response, io)
      printRefusals(outcome, isData, io)
      const reason = describeReason(outcome)
      if (reason !== undefined) say(io, 'error', reason)
      return not_applied && exit_code === 0 ? 1 : exit_code
    },
  )
}
