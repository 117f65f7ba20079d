import { isHarmlessSetting } from '../git/index.js'
import { findOptionValues, type CommandOptions } from './option_commands.js'
import { findValues, isStatic, withText, type Argv, type Word } from './words.js'
import type { StartedPrograms } from './started_programs.js'

/** Options of git whose value a shell reads as a text, by subcommand. */
const TEXT_OPTIONS: Record<string, CommandOptions> = {
  rebase: { letters: 'x', valued: 'sXCS', long: ['exec'] },
  difftool: { letters: 'x', valued: 't', long: ['extcmd'] },
  grep: { letters: 'O', valued: 'efABCm', long: ['open-files-in-pager'] },
  clone: { letters: 'u', valued: 'obcj', long: ['upload-pack'] },
  fetch: { long: ['upload-pack'] },
  pull: { long: ['upload-pack'] },
  'fetch-pack': { long: ['upload-pack', 'exec'] },
  'ls-remote': { long: ['upload-pack', 'exec'] },
  push: { long: ['receive-pack', 'exec'] },
  'send-pack': { long: ['receive-pack', 'exec'] },
  archive: { long: ['exec'] },
  'send-email': { long: ['sendmail-cmd', 'smtp-server', 'to-cmd', 'cc-cmd', 'header-cmd'] },
  'filter-branch': {
    long: ['setup', 'env', 'tree', 'index', 'parent', 'msg', 'commit', 'tag-name', 'subdirectory'].map(
      (name) => `${name}-filter`,
    ),
  },
}

/** Returns what git starts because of its words: texts for a shell, commands, and settings that may be programs. */
export function readGitStarts(words: Argv): StartedPrograms {
  const { settings, rest } = readGitWords(words)
  const [subcommand, ...more] = rest
  const name = subcommand && isStatic(subcommand) ? subcommand.text : undefined
  const commands = name === 'bisect' && more[0]?.text === 'run' ? [more.slice(1)] : []
  const texts =
    name !== undefined && Object.hasOwn(TEXT_OPTIONS, name) ? findOptionValues(more, TEXT_OPTIONS[name]!) : []
  if (name === 'submodule') {
    const command = readForeach(more)
    // One word is a text for a shell, several words are a command.
    if (command.length === 1) texts.push(command[0]!)
    else commands.push(command)
  }
  if (name === 'config') settings.push(...readGitConfig(more))
  if (name === 'clone') settings.push(...findValues(more, /^(-c|--config)$/).flatMap(splitSetting))
  // A remote may be a program: `ext::` and a command line with the placeholders `%S` and `%s`.
  const remotes = more.filter(({ text }) => text.startsWith('ext::'))
  texts.push(
    ...remotes.map((word) =>
      withText(
        word,
        word.text.slice(5).replace(/%(.)/g, (_, sign: string) => (sign === 's' || sign === 'S' ? '' : sign)),
      ),
    ),
  )
  return {
    commands,
    scripts: texts.filter(isStatic).map(({ text }) => text),
    settings: settings
      .filter(({ key, value }) => isStatic(value) && !isHarmlessSetting(key, value.text))
      .map(toCommand),
    ...((!texts.every(isStatic) || settings.some(isFromVariable)) && {
      hidden: 'what git starts is only known when it runs',
    }),
  }
}

/** Returns the command of `git submodule foreach`. */
function readForeach(words: Argv): Argv {
  const inner = words.slice(words.findIndex(({ text }) => text === 'foreach') + 1)
  return words.length === inner.length ? [] : inner.slice(inner.findIndex(({ text }) => !text.startsWith('-')))
}

interface Setting {
  key: string
  value: Word
}

/** Reads the settings before the subcommand. Returns them and the words from the subcommand on. */
export function readGitWords(words: Argv): { settings: Setting[]; rest: Argv } {
  const settings: Setting[] = []
  let at = 0
  for (; words[at]?.text.startsWith('-'); at += 1) {
    const { text } = words[at]!
    const value = /^(-[cC]|--(git-dir|work-tree|namespace|super-prefix|config-env|exec-path))$/.test(text)
      ? words[(at += 1)]
      : undefined
    if (text === '-c' && value) settings.push(...splitSetting(value))
    const fromVariable = text === '--config-env' ? value?.text : /^--config-env=(.*)$/s.exec(text)?.[1]
    if (fromVariable !== undefined) settings.push({ key: fromVariable.replace(/=.*$/s, ''), value: UNKNOWN })
  }
  return { settings, rest: words.slice(at) }
}

/** A value that only the environment of the run has. */
const UNKNOWN: Word = { text: '', kind: 'dynamic' }
/** Checks whether a setting may be a program that only the run decides. */
const isFromVariable = ({ key, value }: Setting): boolean => value === UNKNOWN && !isHarmlessSetting(key, 'a program')

function splitSetting(word: Word): Setting[] {
  const [, key, value = 'true'] = /^([^=]*)(?:=(.*))?$/s.exec(word.text) ?? []
  return key === undefined ? [] : [{ key, value: withText(word, value) }]
}

/** Reads `git config [options] key value` and `git config set key value`. */
export function readGitConfig(words: Argv): Setting[] {
  const isValue = (at: number): boolean =>
    /^(-f|--file|--type|--default|--comment|--value)$/.test(words[at - 1]?.text ?? '')
  const [key, value] = words.filter(({ text }, at) => !/^-|^(set|get|unset|list|edit)$/.test(text) && !isValue(at))
  return key && value ? [{ key: key.text, value }] : []
}

/** A value that begins with `!` is a text for a shell; an alias without it consists of words of git. */
function toCommand({ key, value: { text } }: Setting): string {
  if (text.startsWith('!')) return text.slice(1)
  return /^alias\./i.test(key) ? `git ${text}` : text
}
