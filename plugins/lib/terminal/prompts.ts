import type { Io, Kernel } from '../../../core/contract/index.js'
import { successText } from '../base/index.js'
import { describeEffects, listPrompts, type UserPrompt } from '../skills/index.js'
import { createApprover } from './approver.js'
import { createAsker } from './questions.js'
import { isInteractive, toOneLine, say } from './terminal.js'

/** Commands of every chat. */
const RESERVED_WORDS = new Set(['/help', '/mode', '/plan', '/tasks', '/goal', '/compact', '/quit', '/exit', '/steer'])

/** Finds the prompt of a command word. Loads deferred contributions if the prompt is not known yet. */
export async function findPrompt(kernel: Kernel, word: string): Promise<UserPrompt | undefined> {
  if (!/^\/[\p{L}\p{N}_-]+$/u.test(word) || RESERVED_WORDS.has(word)) return undefined
  const find = (): UserPrompt | undefined => listPrompts(kernel).find(({ offer }) => offer.name === word.slice(1))
  if (!find()) await kernel.inspection.loadDeferred()
  return find()
}

/** Renders a line for each prompt of plugins, packages and servers. */
export async function renderPromptHelp(kernel: Kernel): Promise<string> {
  await kernel.inspection.loadDeferred()
  // Skills without a prompt body or arguments are instructions for models, not commands for people.
  const shown = listPrompts(kernel).filter(
    ({ skill }) => skill?.body !== undefined || skill === undefined || skill.argument_hint !== undefined,
  )
  const listArguments = ({ offer: { arguments: texts = [] }, skill }: UserPrompt): string[] =>
    texts.map((one) => toOneLine(skill?.argument_hint ?? `<${one.name}>`))
  return shown
    .map(
      (one) =>
        `/${[one.offer.name, ...listArguments(one)].join(' ')}: ${toOneLine(one.offer.description).slice(0, 200)}\n`,
    )
    .join('')
}

/** Returns the text of a prompt with its arguments, or prints the error and returns `undefined`. */
export async function fillPrompt(
  kernel: Kernel,
  { offer: { arguments: texts = [] }, skill, call }: UserPrompt,
  rest: string,
  io: Io,
  signal: AbortSignal,
): Promise<string | undefined> {
  const words =
    texts.length > 1
      ? [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!)
      : [rest].filter((word) => word !== '')
  const values = Object.fromEntries(
    words
      .slice(0, texts.length)
      .map((word, at) => [texts[at]!.name, at === texts.length - 1 ? words.slice(at).join(' ') : word]),
  )
  if (skill) for (const deed of describeEffects(skill, rest)) say(io, 'info', `/${skill.name} ${toOneLine(deed)}`)
  const { tool, input } = call(skill ? { arguments: rest } : values)
  const result = await kernel.call(tool, input, {
    signal,
    surface: 'prompt',
    ...(isInteractive(io) && { approve: createApprover(io), ask: createAsker(io) }),
  })
  if (result.ok) return successText(result)
  say(io, 'error', `${result.error.message} ${result.error.hint}`.trim())
  return undefined
}
