import { headOf } from './expand.js'
import { startsNothing } from './repository.js'
import type { Argv, Word } from './words.js'

/** Options of git whose value is a text for a shell, by subcommand. */
const told: Record<string, RegExp> = {
  rebase: /^(-x|--exec)$/,
  difftool: /^(-x|--extcmd)$/,
  grep: /^(-O|--open-files-in-pager)$/,
  clone: /^(-u|--upload-pack)$/,
  fetch: /^--upload-pack$/,
  pull: /^--upload-pack$/,
  'ls-remote': /^(--upload-pack|--exec)$/,
  push: /^(--receive-pack|--exec)$/,
  archive: /^--exec$/,
  'send-email': /^--(sendmail-cmd|smtp-server|to-cmd|cc-cmd|header-cmd)$/,
  'filter-branch': /^--(setup|env|tree|index|parent|msg|commit|tag-name)-filter$|^--subdirectory-filter$/,
}

/** What git is told by its words to start: texts for a shell, and commands as they stand. `perhaps`: values of settings, of which some are programs. */
export function startedByGit(words: Argv): { commands?: Argv[]; scripts?: string[]; perhaps?: string[]; unknown?: string; hidden?: string } {
  const { set, rest } = options(words)
  const texts: Word[] = []
  const [subcommand, ...more] = rest
  const name = subcommand?.kind === 'static' ? subcommand.text : undefined
  const commands: Argv[] = []
  if (name === 'bisect' && more[0]?.text === 'run') commands.push(more.slice(1))
  if (name === 'submodule') {
    const at = more.findIndex(({ text }) => text === 'foreach')
    const inner = at < 0 ? [] : more.slice(at + 1)
    const first = inner.findIndex(({ text }) => !text.startsWith('-'))
    const command = first < 0 ? [] : inner.slice(first)
    // One word is a text for a shell, several are a command.
    if (command.length === 1) texts.push(command[0]!)
    else if (command.length > 1) commands.push(command)
  }
  if (name === 'config') set.push(...configured(more))
  if (name !== undefined && Object.hasOwn(told, name)) texts.push(...valuesOf(more, told[name]!))
  if (name === 'clone') set.push(...valuesOf(more, /^(-c|--config)$/).flatMap(pair))
  const loud = set.filter(({ key, value }) => !startsNothing(key, value.text)).map(({ key, value }) => settingText(key, value))
  // A remote that is a program: `ext::` and what it runs.
  texts.push(...more.flatMap((word) => (/^ext::/.test(headOf(word)) ? [{ ...word, text: word.text.slice(5).replace(/%(.)/g, (_, sign: string) => (sign === 's' || sign === 'S' ? '' : sign)) }] : [])))
  const scripts = plain(texts)
  const reason = 'what git starts is only known when it runs'
  return { commands, scripts, perhaps: plain(loud), ...(scripts.length < texts.length && { unknown: reason, hidden: reason }) }
}

const plain = (some: Argv): string[] => some.filter(({ kind }) => kind === 'static').map(({ text }) => text)

/** The values of options that are spelled in two words, by `=`, or by one letter with the value behind it. */
function valuesOf(words: Argv, option: RegExp): Word[] {
  return words.flatMap((word, at): Word[] => {
    const head = headOf(word)
    if (option.test(head)) return words[at + 1] ? [words[at + 1]!] : []
    const [, name = '', value] = /^(--[\w-]+)=(.*)$/s.exec(word.text) ?? /^(-[a-zA-Z])(.+)$/s.exec(word.text) ?? []
    return value !== undefined && option.test(name) ? [{ ...word, text: value }] : []
  })
}

interface Told {
  key: string
  value: Word
}
/** What stands before the subcommand. */
function options(words: Argv): { set: Told[]; rest: Argv } {
  const set: Told[] = []
  let at = 0
  for (; words[at]?.text.startsWith('-'); at += 1) {
    const { text } = words[at]!
    const next = /^(-[cC]|--(git-dir|work-tree|namespace|super-prefix|config-env|exec-path))$/.test(text) ? words[(at += 1)] : undefined
    if (text === '-c' && next) set.push(...pair(next))
  }
  return { set, rest: words.slice(at) }
}

const pair = (word: Word): Told[] => {
  const [, key, value = 'true'] = /^([^=]*)(?:=(.*))?$/s.exec(word.text) ?? []
  return key === undefined ? [] : [{ key, value: { ...word, text: value } }]
}

/** `git config [options] key value`, and `git config set key value`. */
function configured(words: Argv): Told[] {
  const [key, value] = words.filter(({ text }, at) => !/^-|^(set|get|unset|list|edit)$/.test(text) && !/^(-f|--file|--type|--default|--comment|--value)$/.test(words[at - 1]?.text ?? ''))
  return key && value ? [{ key: key.text, value }] : []
}

/** What stands behind `!` is for a shell; an alias without it is words of git. */
function settingText(key: string, value: Word): Word {
  if (value.text.startsWith('!')) return { ...value, text: value.text.slice(1) }
  return /^alias\./i.test(key) ? { ...value, text: `git ${value.text}` } : value
}
