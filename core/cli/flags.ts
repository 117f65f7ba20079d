import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import type { Mode } from '../shapes/index.js'
import type { Config } from '../config/index.js'
import type { KernelOptions, LogLevel } from '../contract/index.js'

/** The parsed command line: options of the kernel, the verb, and the arguments of its surface. */
export interface CommandLine {
  options: KernelOptions
  /** Changes of the environment. */
  env: Record<string, string>
  /** Lowest level of plugin messages to print. */
  log: LogLevel | undefined
  /** Only failures are printed. */
  quiet: boolean
  verb: string | undefined
  rest: string[]
}

/** A wrong command line; the message names the fault. */
export class CommandLineError extends Error {}

const MODES: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']
export const LOG_LEVELS: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']
/** Flags with a value, and their effect. */
const VALUE_FLAGS: Record<string, (line: CommandLine, value: string) => void> = {
  // Relative paths of the workspace's settings start in this folder, so the path has to be absolute.
  '--workspace': ({ options }, value) => (options.workspace = requireFolder(value)),
  '--home': ({ options, env }, value) => (env['HOME'] = options.home = resolve(value)),
  '--mode': ({ options }, value) => (options.mode = requireChoice(MODES, value, 'mode')),
  '--config': addConfig,
  '-c': addConfig,
  '--dialect': ({ options }, value) => (options.dialects = value.split(',').filter(Boolean)),
  '--allowed-tools': (line, value) => restrictTools(line, parseRules(value, '--allowed-tools', /^[^\s(),]+$/)),
  '--disallowed-tools': (line, value) =>
    removeTools(line, parseRules(value, '--disallowed-tools', /^[^\s(),]+(\(.+\))?$/)),
  '--log-level': (line, value) => (line.log = requireChoice(LOG_LEVELS, value, 'level')),
}
const SWITCH_FLAGS: Record<string, (line: CommandLine) => void> = {
  '--verbose': (line) => (line.log = 'debug'),
  '--quiet': (line) => (line.quiet = true),
  '--no-color': ({ env }) => (env['NO_COLOR'] = '1'),
}

/** Flags with a value of the verbs that a person may leave out: the value is no verb. */
const SESSION_FLAGS: ReadonlySet<string> = new Set([
  '--model',
  '--provider',
  '--resume',
  '--session-id',
  '--context',
  '--surface',
  '--image',
])

/**
 * Takes the flags of the program out of the command line. Flags are accepted anywhere before `--`; for `call`, only
 * before the tool's name, because everything after it is input. Throws a CommandLineError for a wrong flag.
 */
export function readCommandLine(argv: readonly string[]): CommandLine {
  const line: CommandLine = { options: {}, env: {}, log: undefined, quiet: false, verb: undefined, rest: [] }
  const words = [...argv]
  while (words.length > 0) {
    const word = words.shift()!
    const [flag, attached] = word.startsWith('--') && word.includes('=') ? splitAssignment(word) : [word]
    if (Object.hasOwn(VALUE_FLAGS, flag)) {
      const value = attached ?? words.shift()
      if (value === undefined || value === '') throw new CommandLineError(`${flag} needs a value.`)
      VALUE_FLAGS[flag]!(line, value)
    } else if (Object.hasOwn(SWITCH_FLAGS, word)) SWITCH_FLAGS[word]!(line)
    else if (line.verb === undefined && takesVerb(line, word, words)) continue
    else if (word === '--' || (line.verb === 'call' && !word.startsWith('-') && line.rest.at(-1) !== '--session'))
      return { ...line, rest: [...line.rest, word, ...words] }
    else line.rest.push(word)
  }
  return line
}

/** Throws a CommandLineError for a flag that the runs of a worker, which are programs of their own, would not have. */
export function requireReachingFlags({ verb, rest, options }: CommandLine): void {
  if (verb !== 'worker' && !(verb === 'exec' && rest.includes('--remote'))) return
  const { mode, dialects, only, config = [] } = options
  const lost = {
    '--mode (use --max-mode)': verb === 'worker' && mode !== undefined,
    '--dialect': dialects !== undefined,
    '--allowed-tools or --disallowed-tools': only !== undefined,
    '--config or --disallowed-tools': [config]
      .flat()
      .some((one) => typeof one !== 'string' || !one.startsWith('automation.distributed.')),
  }
  const flag = Object.entries(lost).find(([, isLost]) => isLost)?.[0]
  if (flag !== undefined)
    throw new CommandLineError(
      `The runs of a worker do not get ${flag}. Write settings into ~/.vtcode/vtcode.config.yaml of its user.`,
    )
}

/** Takes the verb, or a flag of the usual verb with its value. Returns whether the word was taken. */
function takesVerb(line: CommandLine, word: string, words: string[]): boolean {
  if (!word.startsWith('-')) line.verb = word
  else if (SESSION_FLAGS.has(word) && words.length > 0) line.rest.push(word, words.shift()!)
  else return false
  return true
}

function addConfig({ options }: CommandLine, value: Config | string): void {
  options.config = [...([options.config ?? []].flat() as (Config | string)[]), value]
}

/** Limits the tools. With two flags, only the tools that both name remain. */
function restrictTools({ options }: CommandLine, tools: string[]): void {
  options.only = [...(options.only ?? []), { tools }]
}

/** Removes whole tools from the list; `Tool(rule)` becomes a deny rule of the policy. */
function removeTools(line: CommandLine, texts: string[]): void {
  const [parts, whole] = [texts.filter((text) => text.includes('(')), texts.filter((text) => !text.includes('('))]
  if (whole.length > 0) restrictTools(line, [`Except(${whole.join(', ')})`])
  if (parts.length > 0)
    addConfig(line, {
      policy: {
        deny: parts.map((rule) => ({ rule, reason: 'The flag --disallowed-tools denies this.' })),
      },
    })
}

/** Parses a list with commas; a comma in parentheses is part of the rule. */
function parseRules(list: string, flag: string, form: RegExp): string[] {
  const found = list
    .split(/,(?![^(]*\))/)
    .map((rule) => rule.trim())
    .filter(Boolean)
  const wrong = found.find((rule) => !form.test(rule))
  if (wrong !== undefined || found.length === 0) {
    const names = flag === '--disallowed-tools' ? 'names of tools or rules such as Tool(rule)' : 'names of tools'
    throw new CommandLineError(`${flag} got '${wrong ?? list}'. Give ${names}, separated by commas.`)
  }
  return found
}

function requireFolder(value: string): string {
  const path = resolve(value)
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory())
    throw new CommandLineError(`'${value}' is not a folder. Give --workspace a folder.`)
  return path
}

function requireChoice<T extends string>(possible: readonly T[], value: string, what: string): T {
  const found = possible.find((one) => one === value)
  if (found === undefined) throw new CommandLineError(`Unknown ${what} '${value}'; use one of ${possible.join(', ')}.`)
  return found
}

function splitAssignment(word: string): [string, string] {
  const at = word.indexOf('=')
  return [word.slice(0, at), word.slice(at + 1)]
}
