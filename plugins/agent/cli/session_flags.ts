import { Option, type Command } from 'commander'
import { omitUndefined, type JsonObject } from '../../../core/shapes/index.js'
import type { Io, Kernel } from '../../../core/contract/index.js'
import { say } from '../../lib/terminal/index.js'
import type { RunOutcome } from '../base/index.js'
import { resolveRunContext, runContexts, type RunContext } from '../components/index.js'
import { askForData, computeTokenBudget, type DataRequest } from '../context/index.js'
import type { Agent, AgentOptions } from '../index.js'
import { listIgnoredModels } from '../providers/index.js'
import { pickModel } from './choose_model.js'
import { printFailure } from './print_failure.js'

/** The context of a command: interactive or not, and the requested run context. */
export interface VerbContext {
  verb: 'interactive' | 'exec'
  asked?: RunContext
}

/** Opens an agent for a command and closes it. Returns the exit code. */
export async function withAgent(
  kernel: Kernel,
  io: Io,
  context: VerbContext,
  options: AgentOptions,
  use: (agent: Agent) => Promise<number>,
): Promise<number> {
  const { createAgent } = await import('../index.js')
  return runWhileOpen(kernel, io, context, options, createAgent, use)
}

/** A task, and the request for data after it. */
export interface FinalQuestion {
  task: string
  data: Omit<DataRequest, 'connection' | 'max_output_tokens' | 'after'>
}
const MAX_DATA_TOKENS = 8192

/** Runs a task, then asks the model for data about it. Returns the exit code. */
export async function workAndAsk(
  kernel: Kernel,
  io: Io,
  context: VerbContext,
  options: AgentOptions,
  { task, data }: FinalQuestion,
  use: (outcome: RunOutcome, reply: JsonObject | undefined) => Promise<number>,
): Promise<number> {
  const { openThread } = await import('../index.js')
  return runWhileOpen(kernel, io, context, options, openThread, async ({ thread }) => {
    await thread.start()
    const { outcome } = await thread.run(
      { role: 'user', parts: [{ type: 'text', text: task }], origin: 'prompt' },
      io.signal,
    )
    const { connection, settings } = thread
    const max_output_tokens = Math.min(MAX_DATA_TOKENS, computeTokenBudget(connection.model, settings).output)
    const askForAnswer = async () =>
      askForData(thread, { ...data, connection, max_output_tokens, after: await thread.context.request() }, io.signal)
    const answer =
      outcome === 'success'
        ? await askForAnswer().then(
            (reply) => ({ reply }),
            (error: unknown) => ({ error }),
          )
        : { reply: undefined }
    const whole = await thread.finish()
    if ('error' in answer) throw answer.error
    return use(whole, answer.reply)
  })
}

async function runWhileOpen<T extends { close(): Promise<void> }>(
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
    const model = options.model ?? (await pickModel(kernel, io))
    const agent = await open(kernel, {
      env: io.env,
      io,
      context: resolveRunContext(verb, asked, io.env),
      ...options,
      ...(model !== undefined && { model }),
    })
    // With a model from another source, ignored models of the repository would stay unnoticed.
    if (kernel.diagnostics().some(({ code }) => code === 'VT_CONFIG_CONSENT'))
      for (const text of listIgnoredModels(kernel, io.env)) say(io, 'warning', text)
    try {
      return await use(agent)
    } finally {
      await agent.close()
    }
  } catch (error) {
    return printFailure(kernel, error, io)
  }
}

/** Flags for the model, the run context and the session. */
export interface SessionFlags {
  model?: string
  provider?: string
  sessionId?: string
  resume?: string
  continue?: true
  context?: RunContext
  keep?: true
}
/** Adds the flags of every command that starts or continues a session. */
export const addSessionOptions = (command: Command): Command =>
  command
    .option('--model <id>', '<provider>/<model>')
    .option('--provider <name>', 'provider of the model; alone: its first model')
    .option('--session-id <id>', 'id of the new session: ses_…')
    .addOption(new Option('--context <context>', 'run context, if stricter than the default').choices(runContexts))
    .option('--keep', 'keep the session in --context bench')

/** Adds the flags of a session, with those to continue one. */
export const addResumeOptions = (command: Command): Command =>
  addSessionOptions(command)
    .addOption(new Option('--resume <session>', 'continue a session: its id, or last').conflicts('sessionId'))
    .addOption(new Option('--continue', 'continue the last session').conflicts(['resume', 'sessionId']))

/** Converts flags to the options of an agent. */
export function toAgentOptions({
  model,
  provider,
  sessionId,
  resume,
  continue: goOn,
  keep,
}: SessionFlags): AgentOptions {
  return omitUndefined({
    model: toModelId(model, provider),
    session_id: sessionId,
    resume: goOn ? 'last' : resume,
    providers: keep && { session: 'disk' },
  })
}

/** Returns the id of a model from the flags --model and --provider. */
export const toModelId = (model: string | undefined, provider: string | undefined): string | undefined =>
  provider === undefined || model?.startsWith(`${provider}/`)
    ? model
    : model === undefined
      ? provider
      : `${provider}/${model}`
