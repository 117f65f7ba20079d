import type { Io, Kernel } from '../../../core/index.js'
import { AgentError } from '../../agent/index.js'
import {
  describeModel,
  checkModel,
  chooseComponents,
  findModel,
  suggestModels,
  printFailure,
  signIn,
  createSignIn,
  listIgnoredModels,
} from '../../agent/cli/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import type { Interview } from './interview.js'
import { readUserSetting, type InitFlags } from './plan.js'

type OfferedModels = Awaited<ReturnType<typeof suggestModels>>
type FoundModel = ReturnType<typeof findModel>
type Failed = { code: string; message: string }

/** Chooses a model that answers, or returns an exit code. `{ id: undefined }` means that the user wants no model. */
export async function chooseModel(
  kernel: Kernel,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<{ id: string | undefined } | number> {
  if (flags.model === false) return { id: undefined }
  const given = flags.model === undefined ? undefined : requireOwnModel(findModel(kernel, io.env, flags.model))
  const configured = readUserSetting(kernel, 'agent.model')
  const current = typeof configured === 'string' ? configured : undefined
  const offered =
    given === undefined
      ? await suggestModels(kernel, await chooseComponents({ kernel, env: io.env }), io.signal)
      : undefined
  if (offered) warnOfFaults([...offered.faults, ...listIgnoredModels(kernel, io.env)], io)
  const ids = listModelIds(current, offered)
  if (given === undefined && ids.length === 0) return reportNoModel(offered!, io)
  for (;;) {
    const choices = ids.map((value) => ({ value, label: value, hint: describeChoice(value, offered) }))
    const id = given ?? (await interview.choose('Which model?', choices, ids[0]!))
    const next =
      flags.try === false || (!interview.interactive && !flags.yes)
        ? 'keep'
        : await tryModel(kernel, id, flags, interview, io)
    if (next === 'keep') return { id }
    if (typeof next === 'number') return next
  }
}

function warnOfFaults(faults: readonly string[], io: Io): void {
  for (const fault of new Set(faults)) say(io, 'warning', fault)
}

function listModelIds(current: string | undefined, offered: OfferedModels | undefined): string[] {
  const others = offered?.models.filter(isOwn).map(({ id }) => id) ?? []
  return [...new Set([current ?? [], others].flat())]
}

/** Returns whether a model is usable everywhere; a model of the workspace is usable only there. */
const isOwn = ({ source }: FoundModel): boolean => source.from.layer !== 'workspace'
function requireOwnModel(model: FoundModel): string {
  if (isOwn(model)) return model.id
  const hint = 'Set agent.model in the settings of this repository instead, and run `vtcode trust`.'
  throw new AgentError(
    'VT_LLM_NO_MODEL',
    `Provider '${model.entry.name}' belongs to this repository, so your own settings cannot name its models.`,
    { hint },
  )
}

function describeChoice(id: string, offered: OfferedModels | undefined): string {
  const model = offered?.models.find((one) => one.id === id)
  return model ? describeModel(model) : 'the current setting'
}

/** Sends the model one small request. After a failure a person decides what happens next. */
async function tryModel(
  kernel: Kernel,
  id: string,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<'keep' | 'again' | number> {
  say(io, 'info', `Testing ${id} with one small request.`)
  try {
    const { latency_ms, calls_tools } = await checkModel(kernel, id, io.env, io.signal)
    say(io, 'info', `${id} answers after ${latency_ms} ms.`)
    if (!calls_tools)
      say(io, 'warning', `${id} did not call the tool of the test; an agent needs a model that calls tools.`)
    return 'keep'
  } catch (error) {
    const code = printFailure(kernel, error, io)
    if (await offerLogin(kernel, id, error as Failed, flags, interview, io))
      return tryModel(kernel, id, { ...flags, signIn: false }, interview, io)
    if (!interview.interactive) {
      say(io, 'info', 'Nothing was written; name another model with --model, or skip the test with --no-try.')
      return code
    }
    const next = await interview.choose(
      'The model does not answer.',
      [
        { value: 'again', label: flags.model ? 'Try again' : 'Choose again' },
        { value: 'keep', label: 'Keep it anyway' },
      ],
      'again',
    )
    return next as 'again' | 'keep'
  }
}

/** Signs in to the provider of a model if that supports it and the user agrees. Returns whether it did. */
async function offerLogin(
  kernel: Kernel,
  id: string,
  { code }: Failed,
  { signIn: wanted }: InitFlags,
  interview: Interview,
  io: Io,
): Promise<boolean> {
  const { entry } = findModel(kernel, io.env, id)
  if (code !== 'VT_LLM_AUTH' || entry.auth?.type !== 'oauth' || wanted === false) return false
  if (!wanted && !(await interview.confirm(`Sign in to ${toOneLine(entry.name)}?`, false))) return false
  await signIn(
    await createSignIn(kernel, entry.name, await chooseComponents({ kernel, env: io.env })),
    kernel.workspace,
    io.signal,
  )
  return true
}

function reportNoModel({ without_key }: OfferedModels, io: Io): number {
  say(io, 'error', 'No provider has a key, and no model server answers on this machine.')
  const keys = without_key.map(({ name, variable }) => `${variable} (${toOneLine(name)})`).join(', ')
  io.stderr.write(
    `  Set one of ${keys}, or start Ollama, LM Studio or llama.cpp; ` +
      'add other servers under custom_providers in ~/.vtcode/vtcode.config.yaml.\n',
  )
  io.stderr.write(
    '  Then run `vtcode init` again; `vtcode init --no-model` does the rest without a model. Nothing was written.\n',
  )
  return 3
}
