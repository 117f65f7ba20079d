import type { Io, Kernel } from '../../../core/index.js'
import { AgentError } from '../../agent/index.js'
import {
  aboutModel,
  checkModel,
  chooseComponents,
  findModel,
  offeredModels,
  printFailure,
  signIn,
  signInOf,
  uncountedModels,
} from '../../agent/cli/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import type { Interview } from './interview.js'
import { ownValue, type InitFlags } from './plan.js'

type Offered = Awaited<ReturnType<typeof offeredModels>>
type FoundModel = ReturnType<typeof findModel>
type Failed = { code: string; message: string }

/** Chooses a model that answers; an exit code where there is none. `{ id: undefined }`: none was wanted. */
export async function chooseModel(
  kernel: Kernel,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<{ id: string | undefined } | number> {
  if (flags.model === false) return { id: undefined }
  const given = flags.model === undefined ? undefined : ownModel(findModel(kernel, io.env, flags.model))
  const said = ownValue(kernel, 'agent.model')
  const current = typeof said === 'string' ? said : undefined
  const offered =
    given === undefined
      ? await offeredModels(kernel, await chooseComponents({ kernel, env: io.env }), io.signal)
      : undefined
  if (offered) warnOfFaults([...offered.faults, ...uncountedModels(kernel, io.env)], io)
  const ids = idsOf(current, offered)
  if (given === undefined && ids.length === 0) return nothingFound(offered!, io)
  for (;;) {
    const choices = ids.map((value) => ({ value, label: value, hint: hintOf(value, offered) }))
    const id = given ?? (await interview.choose('Which model?', choices, ids[0]!))
    const next =
      flags.try === false || (!interview.asks && !flags.yes) ? 'keep' : await tried(kernel, id, flags, interview, io)
    if (next === 'keep') return { id }
    if (typeof next === 'number') return next
  }
}

function warnOfFaults(faults: readonly string[], io: Io): void {
  for (const fault of new Set(faults)) say(io, 'warning', fault)
}

function idsOf(current: string | undefined, offered: Offered | undefined): string[] {
  const others = offered?.models.filter(isOwn).map(({ id }) => id) ?? []
  return [...new Set([current ?? [], others].flat())]
}

/** Models of a repository count in it alone. */
const isOwn = ({ source }: FoundModel): boolean => source.from.layer !== 'workspace'
function ownModel(model: FoundModel): string {
  if (isOwn(model)) return model.id
  const hint = 'Its own agent.model chooses it here, after `vtcode trust`.'
  throw new AgentError(
    'VT_LLM_NO_MODEL',
    `${model.entry.name} is a provider of this repository; your settings would name what is not known elsewhere.`,
    { hint },
  )
}

function hintOf(id: string, offered: Offered | undefined): string {
  const model = offered?.models.find((one) => one.id === id)
  return model ? aboutModel(model) : 'as it is set now'
}

/** Sends the model one small request; whoever is asked says what comes of a failure. */
async function tried(
  kernel: Kernel,
  id: string,
  flags: InitFlags,
  interview: Interview,
  io: Io,
): Promise<'keep' | 'again' | number> {
  say(io, 'info', `${id} is tried with one small request.`)
  try {
    const { latency_ms, calls_tools } = await checkModel(kernel, id, io.env, io.signal)
    say(io, 'info', `${id} answers after ${latency_ms} ms.`)
    if (!calls_tools)
      say(io, 'warning', `${id} did not call the tool that it was offered; an agent needs a model that does.`)
    return 'keep'
  } catch (error) {
    const code = printFailure(kernel, error, io)
    if (await signedIn(kernel, id, error as Failed, flags, interview, io))
      return tried(kernel, id, { ...flags, signIn: false }, interview, io)
    if (!interview.asks) {
      say(io, 'info', 'Nothing was written; name another model with --model, or --no-try.')
      return code
    }
    const next = await interview.choose(
      'It does not answer.',
      [
        { value: 'again', label: flags.model ? 'Try again' : 'Choose again' },
        { value: 'keep', label: 'Keep it anyway' },
      ],
      'again',
    )
    return next as 'again' | 'keep'
  }
}

/** Signs in to the provider of a model, where it has a sign-in and somebody wants it. */
async function signedIn(
  kernel: Kernel,
  id: string,
  { code }: Failed,
  { signIn: wanted }: InitFlags,
  interview: Interview,
  io: Io,
): Promise<boolean> {
  const { entry } = findModel(kernel, io.env, id)
  if (code !== 'VT_LLM_AUTH' || entry.auth?.type !== 'oauth' || wanted === false) return false
  if (!wanted && !(await interview.wants(`Sign in to ${toOneLine(entry.name)}?`, false))) return false
  await signIn(
    await signInOf(kernel, entry.name, await chooseComponents({ kernel, env: io.env })),
    kernel.workspace,
    io.signal,
  )
  return true
}

function nothingFound({ without_key }: Offered, io: Io): number {
  say(io, 'error', 'No key of a provider is set, and no model server answers on this machine.')
  const keys = without_key.map(({ name, variable }) => `${variable} (${toOneLine(name)})`).join(', ')
  io.stderr.write(
    `  Set one of ${keys}, or start Ollama, LM Studio or llama.cpp; other servers go under custom_providers in ~/.vtcode/vtcode.config.yaml.\n`,
  )
  io.stderr.write(
    '  Then `vtcode init` again; `vtcode init --no-model` does the rest without a model. Nothing was written.\n',
  )
  return 3
}
