import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Mode } from '../shapes/index.js'
import type { Config } from '../config/index.js'
import type { KernelOptions, LogLevel } from '../contract/index.js'

/** What the command line says: options of the kernel, the verb and what is left for its surface. */
export interface CommandLine {
  options: KernelOptions
  /** What is said of the environment. */
  env: Record<string, string>
  /** The least that plugins have to say is shown from here on. */
  log: LogLevel | undefined
  /** Only what goes wrong is said. */
  quiet: boolean
  verb: string | undefined
  rest: string[]
}

/** The command line is wrong; the message says how. */
export class CommandLineError extends Error {}

const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']
export const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** Flags with a value, and how it is taken in. */
const valued: Record<string, (line: CommandLine, value: string) => void> = {
  // What settings in it name begins there, so it has to be a whole path.
  '--workspace': ({ options }, value) => (options.workspace = folder(value)),
  '--home': ({ options, env }, value) => (env['HOME'] = options.home = resolve(value)),
  '--mode': ({ options }, value) => (options.mode = oneOf(modes, value, 'mode')),
  '--config': addConfig,
  '-c': addConfig,
  '--dialect': ({ options }, value) => (options.dialects = value.split(',').filter(Boolean)),
  '--allowed-tools': (line, value) => leave(line, rules(value, '--allowed-tools', /^[^\s(),]+$/)),
  '--disallowed-tools': (line, value) => takeAway(line, rules(value, '--disallowed-tools', /^[^\s(),]+(\(.+\))?$/)),
  '--log-level': (line, value) => (line.log = oneOf(levels, value, 'level')),
}
const plain: Record<string, (line: CommandLine) => void> = {
  '--verbose': (line) => (line.log = 'debug'),
  '--quiet': (line) => (line.quiet = true),
  '--no-color': ({ env }) => (env['NO_COLOR'] = '1'),
}

/**
 * Takes the flags of the program out of the command line. They may stand anywhere before `--`; only for `call` they end with
 * the tool's name, because everything behind it is input. Throws a UsageError for a flag that makes no sense.
 */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const line: CommandLine = { options: {}, env: {}, log: undefined, quiet: false, verb: undefined, rest: [] }
  const words = [...argv]
  while (words.length > 0) {
    const word = words.shift()!
    const [flag, attached] = word.startsWith('--') && word.includes('=') ? cut(word) : [word]
    if (Object.hasOwn(valued, flag)) {
      const value = attached ?? words.shift()
      if (value === undefined || value === '') throw new CommandLineError(`${flag} needs a value.`)
      valued[flag]!(line, value)
    } else if (Object.hasOwn(plain, word)) plain[word]!(line)
    else if (line.verb === undefined && !word.startsWith('-')) line.verb = word
    else if (word === '--' || (line.verb === 'call' && !word.startsWith('-') && line.rest.at(-1) !== '--session'))
      return { ...line, rest: [...line.rest, word, ...words] }
    else line.rest.push(word)
  }
  return line
}

function addConfig({ options }: CommandLine, value: Config | string): void {
  options.config = [...([options.config ?? []].flat() as (Config | string)[]), value]
}

/** Of two flags what both leave. */
function leave({ options }: CommandLine, tools: string[]): void {
  options.only = [...(options.only ?? []), { tools }]
}

/** Whole tools are not left; what a rule says of some of their calls is one more rule that denies. */
function takeAway(line: CommandLine, texts: string[]): void {
  const [parts, whole] = [texts.filter((text) => text.includes('(')), texts.filter((text) => !text.includes('('))]
  if (whole.length > 0) leave(line, [`Except(${whole.join(', ')})`])
  if (parts.length > 0)
    addConfig(line, {
      policy: {
        deny: parts.map((rule) => ({ rule, reason: '--disallowed-tools of the command line takes this away.' })),
      },
    })
}

/** The rules of a list with commas; those in brackets belong to their rule. */
function rules(list: string, flag: string, form: RegExp): string[] {
  const found = list
    .split(/,(?![^(]*\))/)
    .map((rule) => rule.trim())
    .filter(Boolean)
  const wrong = found.find((rule) => !form.test(rule))
  if (wrong !== undefined || found.length === 0)
    throw new CommandLineError(`${flag} takes names of tools with commas between them, not '${wrong ?? list}'.`)
  return found
}

function folder(value: string): string {
  const path = resolve(value)
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandLineError(`--workspace takes a folder; '${value}' is not a folder.`)
  return path
}

function oneOf<T extends string>(possible: readonly T[], value: string, what: string): T {
  const found = possible.find((one) => one === value)
  if (found === undefined) throw new CommandLineError(`Unknown ${what} '${value}'; possible: ${possible.join(', ')}.`)
  return found
}

function cut(word: string): [string, string] {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}
