import { Option, type Command } from 'commander'
import { definedOnly, type JsonObject } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { say } from '../../lib/terminal/index.js'
import type { RunOutcome } from '../base/index.js'
import { runContextOf, runContexts, type RunContext } from '../components/index.js'
import { askFor, tokenBudget, type DataRequest } from '../context/index.js'
import type { Agent, AgentOptions } from '../index.js'
import { uncountedModels } from '../providers/index.js'
import { pickedModel } from './choose_model.js'
import { printFailure } from './print_failure.js'

/** Where a verb runs: with a person in front of it or not, and the context that was asked for. */
export interface VerbContext {
  verb: 'interactive' | 'exec'
  asked?: RunContext
}

/** Opens an agent for a verb and closes it. Returns the exit code. */
export async function withAgent(
  kernel: Kernel,
  io: Io,
  context: VerbContext,
  options: AgentOptions,
  use: (agent: Agent) => Promise<number>,
): Promise<number> {
  const { createAgent } = await import('../index.js')
  return whileOpen(kernel, io, context, options, createAgent, use)
}

/** What is asked for in the end, when the task is done. */
export interface AskedAtEnd {
  task: string
  data: Omit<DataRequest, 'connection' | 'max_output_tokens' | 'after'>
}
const mostData = 8192

/** Works on a task, then asks the model for data about it. Returns the exit code. */
export async function workThenAsk(
  kernel: Kernel,
  io: Io,
  context: VerbContext,
  options: AgentOptions,
  { task, data }: AskedAtEnd,
  use: (outcome: RunOutcome, reply: JsonObject | undefined) => Promise<number>,
): Promise<number> {
  const { openThread } = await import('../index.js')
  return whileOpen(kernel, io, context, options, openThread, async ({ thread }) => {
    await thread.start()
    const { outcome } = await thread.run(
      { role: 'user', parts: [{ type: 'text', text: task }], origin: 'prompt' },
      io.signal,
    )
    const { connection, settings } = thread
    const max_output_tokens = Math.min(mostData, tokenBudget(connection.model, settings).output)
    const asking = async () =>
      askFor(thread, { ...data, connection, max_output_tokens, after: await thread.context.request() }, io.signal)
    const asked =
      outcome === 'success'
        ? await asking().then(
            (reply) => ({ reply }),
            (error: unknown) => ({ error }),
          )
        : { reply: undefined }
    const whole = await thread.finish()
    if ('error' in asked) throw asked.error
    return use(whole, asked.reply)
  })
}

async function whileOpen<T extends { close(): Promise<void> }>(
  kernel: Kernel,
  io: Io,
  { verb, asked }: VerbContext,
  options: AgentOptions,
  open: (kernel: Kernel, options: AgentOptions) => Promise<T>,
  use: (opened: T) => Promise<number>,
): Promise<number> {
  try {
    for (const { code, message } of kernel.diagnostics())
      if (/^VT_POLICY_(UNKNOWN_TOOL|NO_MATCH)$/.test(code)) say(io, 'warning', message)
    const model = options.model ?? (await pickedModel(kernel, io))
    const agent = await open(kernel, {
      env: io.env,
      io,
      context: runContextOf(verb, asked, io.env),
      ...options,
      ...(model !== undefined && { model }),
    })
    // Where the model comes from elsewhere, nobody else says what the repository would have.
    if (kernel.diagnostics().some(({ code }) => code === 'VT_CONFIG_CONSENT'))
      for (const text of uncountedModels(kernel, io.env)) say(io, 'warning', text)
    try {
      return await use(agent)
    } finally {
      await agent.close()
    }
  } catch (error) {
    return printFailure(kernel, error, io)
  }
}

/** Which model, where, and in which session. */
export interface SessionFlags {
  model?: string
  provider?: string
  sessionId?: string
  resume?: string
  continue?: true
  context?: RunContext
  keep?: true
}
/** The flags of every verb that begins or goes on with a session. */
export const withSession = (command: Command): Command =>
  command
    .option('--model <id>', '<provider>/<model>')
    .option('--provider <name>', 'of the model; alone: its first model')
    .option('--session-id <id>', 'of the new session: ses_…')
    .addOption(new Option('--context <context>', 'as elsewhere, if stricter').choices(runContexts))
    .option('--keep', 'keep the session in --context bench')

/** The same with those to continue a session. */
export const withResume = (command: Command): Command =>
  withSession(command)
    .addOption(new Option('--resume <session>', 'continue a session; its id, or last').conflicts('sessionId'))
    .addOption(new Option('--continue', 'continue the last session').conflicts(['resume', 'sessionId']))

/** The options of an agent that these flags stand for. */
export function sessionOptions({
  model,
  provider,
  sessionId,
  resume,
  continue: goOn,
  keep,
}: SessionFlags): AgentOptions {
  return definedOnly({
    model: modelId(model, provider),
    session_id: sessionId,
    resume: goOn ? 'last' : resume,
    providers: keep && { session: 'disk' },
  })
}

/** The id of a model from the flags --model and --provider. */
export const modelId = (model: string | undefined, provider: string | undefined): string | undefined =>
  provider === undefined || model?.startsWith(`${provider}/`)
    ? model
    : model === undefined
      ? provider
      : `${provider}/${model}`
