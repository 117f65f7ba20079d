/** Ignore files as git and ripgrep read them, for the walk of our own. */
import { glob } from './glob.js'

/** What one file of rules says about a path relative to its folder: left out, kept against an earlier rule, or nothing. */
export type Rules = (path: string, directory: boolean) => 'ignore' | 'keep' | undefined

export function rulesOf(text: string): Rules {
  const rules = text.replace(/^\uFEFF/, '').split(/\r?\n/).flatMap((line) => ruleOf(line) ?? [])
  return (path, directory) => rules.findLast((rule) => (directory || !rule.only_directories) && rule.matches(path))?.verdict
}

interface Rule {
  verdict: 'ignore' | 'keep'
  only_directories: boolean
  matches: (path: string) => boolean
}

function ruleOf(line: string): Rule | undefined {
  // A trailing space counts only when it is escaped.
  const text = line.replace(/(?<!\\) +$/, '')
  if (text === '' || text.startsWith('#')) return undefined
  const verdict = text.startsWith('!') ? 'keep' : 'ignore'
  const pattern = text.replace(/^!/, '')
  const only_directories = pattern.endsWith('/')
  const body = pattern.replace(/\/$/, '')
  try {
    return { verdict, only_directories, matches: glob(body, true) }
  } catch {
    return undefined
  }
}
