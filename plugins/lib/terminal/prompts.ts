import type { Io, Kernel, Offer } from '../../../core/kernel/index.js'
import { successText } from '../base/index.js'
import { approver } from './approver.js'
import { asker } from './questions.js'
import { interactive, oneLine, say } from './terminal.js'

/** Words that mean something else in every chat. */
const ours = new Set(['/help', '/mode', '/goal', '/compact', '/quit', '/exit', '/steer'])

/** The prompt behind a word; a server that brings it may have to be asked first. */
export async function promptNamed(kernel: Kernel, word: string): Promise<Offer | undefined> {
  if (!/^\/[\w-]+$/.test(word) || ours.has(word)) return undefined
  const find = (): Offer | undefined => kernel.offers('prompt').find(({ name }) => name === word.slice(1))
  if (!find()) await kernel.settle()
  return find()
}

/** A line for each prompt that plugins and servers offer. */
export async function promptHelp(kernel: Kernel): Promise<string> {
  await kernel.settle()
  return kernel.offers('prompt').map(({ name, description, arguments: texts = [] }) => `/${[name, ...texts.map((one) => `<${oneLine(one.name)}>`)].join(' ')}: ${oneLine(description).slice(0, 200)}\n`).join('')
}

/** What a prompt says with these words in it; nothing where it says why not. */
export async function filledPrompt(kernel: Kernel, { slot, arguments: texts = [] }: Offer, rest: string, io: Io, signal: AbortSignal): Promise<string | undefined> {
  const words = texts.length > 1 ? [...rest.matchAll(/"([^"]*)"|(\S+)/g)].map(([, quoted, word]) => quoted ?? word!) : [rest].filter((word) => word !== '')
  const values = Object.fromEntries(words.slice(0, texts.length).map((word, at) => [texts[at]!.name, at === texts.length - 1 ? words.slice(at).join(' ') : word]))
  const result = await kernel.call(slot, values, { signal, surface: 'prompt', ...(interactive(io) && { approve: approver(io), ask: asker(io) }) })
  if (result.ok) return successText(result)
  say(io, 'error', `${result.error.message} ${result.error.hint}`.trim())
  return undefined
}
