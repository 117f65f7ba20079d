import { resolve } from 'node:path'
import type { KernelOptions, Mode } from './types.js'

/** What the command line says: options of the kernel, the verb and what is left for its surface. */
export interface CommandLine {
  options: KernelOptions
  verb: string | undefined
  rest: string[]
}

/** The command line is wrong; the message says how. */
export class UsageError extends Error {}

const modes = ['plan', 'ask', 'auto', 'full-auto']
const names: Record<string, string> = { '--workspace': 'workspace', '--mode': 'mode', '--config': 'config', '-c': 'config', '--home': 'home', '--dialect': 'dialect' }

/**
 * Takes the flags of the program out of the command line. They may stand anywhere before `--`; only for `call` they end with
 * the tool's name, because everything behind it is input. Throws a UsageError for a flag that makes no sense.
 */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const options: KernelOptions = {}
  const rest: string[] = []
  let verb: string | undefined
  const words = [...argv]
  while (words.length > 0) {
    const word = words.shift()!
    const [flag, attached] = word.startsWith('--') && word.includes('=') ? cut(word) : [word]
    const name = Object.hasOwn(names, flag) ? names[flag] : undefined
    if (name) set(options, name, attached ?? words.shift(), flag)
    else if (verb === undefined && !word.startsWith('-')) verb = word
    else if (word === '--' || (verb === 'call' && !word.startsWith('-') && rest.at(-1) !== '--session')) return { options, verb, rest: [...rest, word, ...words] }
    else rest.push(word)
  }
  return { options, verb, rest }
}

function set(options: KernelOptions, name: string, value: string | undefined, flag: string): void {
  if (value === undefined || value === '') throw new UsageError(`${flag} needs a value.`)
  if (name === 'config') options.config = [...[options.config ?? []].flat(), value]
  else if (name === 'dialect') options.dialects = value.split(',').filter(Boolean)
  // What settings in it name begins there, so it has to be a whole path.
  else if (name !== 'mode') options[name as 'workspace' | 'home'] = resolve(value)
  else if (modes.includes(value)) options.mode = value as Mode
  else throw new UsageError(`There is no mode '${value}'; possible are ${modes.join(', ')}.`)
}

function cut(word: string): [string, string] {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}
