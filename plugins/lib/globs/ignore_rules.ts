import { basename, dirname, join } from 'node:path'
import { readBytes } from '../../../core/documents/index.js'
import { trimEndChars } from '../base/index.js'
import { compileGlob } from './glob.js'

/** What one file of rules says about a path relative to its folder and its last name: left out, kept against an earlier rule, or nothing. */
export type Rules = (path: string, name: string, directory: boolean) => 'ignore' | 'keep' | undefined

/** The kinds of files of rules: the first that speaks of an entry decides, and of one kind the file that lies nearest. */
export const ruleFiles = ['.rgignore', '.ignore', '.gitignore', '.git/info/exclude', '.vtcodegitignore'] as const

/** Bytes of a file of rules. */
export const MAX_RULE_BYTES = 2_097_152

/** A file of rules and the folder that it speaks of, as the start of the paths in it: empty or with a final `/`. */
interface Layer {
  kind: (typeof ruleFiles)[number]
  /** How many characters of a workspace path its own paths leave out, or what they begin with if it lies above the workspace. */
  below: number | string
  rules: Rules
}

/** All rules that count in one folder. */
export class IgnoreRules {
  private constructor(private readonly layers: readonly Layer[]) {}

  /** What the folders above the workspace say: it may be part of a repository. */
  static readAbove(root: string): IgnoreRules {
    const layers: Layer[] = []
    let below = ''
    for (let folder = root; dirname(folder) !== folder; folder = dirname(folder)) {
      below = `${basename(folder)}/${below}`
      for (const kind of ruleFiles.slice(0, -1)) {
        const text = readRuleFile(join(dirname(folder), kind))
        if (text !== undefined) layers.push({ kind, below, rules: parseIgnoreRules(text) })
      }
    }
    return new IgnoreRules(layers.sort(byKind))
  }

  /** With what the files of rules in `folder` say, `read` by their kinds. */
  async with(
    folder: string,
    kinds: readonly Layer['kind'][],
    read: (kind: string) => Promise<string | undefined>,
  ): Promise<IgnoreRules> {
    const own: Layer[] = []
    for (const kind of kinds) {
      const text = await read(kind)
      if (text !== undefined)
        own.push({ kind, below: folder === '.' ? 0 : folder.length + 1, rules: parseIgnoreRules(text) })
    }
    return own.length === 0 ? this : new IgnoreRules([...own, ...this.layers].sort(byKind))
  }

  verdict(path: string, name: string, directory: boolean): ReturnType<Rules> {
    for (const { below, rules } of this.layers) {
      const verdict = rules(typeof below === 'string' ? below + path : path.slice(below), name, directory)
      if (verdict) return verdict
    }
    return undefined
  }
}

// A stable sort leaves the nearest of a kind in front.
const byKind = (a: Layer, b: Layer): number => ruleFiles.indexOf(a.kind) - ruleFiles.indexOf(b.kind)

/** A file outside the workspace may be anybody's: a pipe would hold us for ever, a device never end. */
function readRuleFile(path: string): string | undefined {
  try {
    return readBytes(path, { limit: MAX_RULE_BYTES }).toString()
  } catch {
    return undefined
  }
}

export function parseIgnoreRules(text: string): Rules {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => parseRule(line) ?? [])
  return (path, name, directory) => {
    // One after the other, as there may be a hundred thousand.
    for (let at = rules.length - 1; at >= 0; at--) {
      const { by_name, begin, ending, only_directories, matches, verdict } = rules[at]!
      const subject = by_name ? name : path
      if (subject.startsWith(begin) && subject.endsWith(ending) && (directory || !only_directories) && matches(subject))
        return verdict
    }
    return undefined
  }
}

interface Rule {
  verdict: 'ignore' | 'keep'
  only_directories: boolean
  /** It speaks of the last name alone. */
  by_name: boolean
  /** What all that it speaks of begins and ends with. */
  begin: string
  ending: string
  matches: (told: string) => boolean
}

function parseRule(line: string): Rule | undefined {
  // A trailing space counts only when it is escaped.
  const trimmed = trimEndChars(line, ' ')
  const text = trimmed.endsWith('\\') && trimmed.length < line.length ? `${trimmed} ` : trimmed
  if (text === '' || text.startsWith('#')) return undefined
  const verdict = text.startsWith('!') ? 'keep' : 'ignore'
  const pattern = text.replace(/^!/, '')
  const only_directories = pattern.endsWith('/')
  const body = pattern.replace(/\/$/, '')
  // Of very many rules most are about what few names begin or end with: a glob is read when one does. One that cannot be read says nothing.
  let known: ((told: string) => boolean) | undefined
  return {
    verdict,
    only_directories,
    by_name: !body.includes('/'),
    ...findPlainEnds(body.replace(/^\//, '')),
    matches: (told) => (known ??= compileGlobOrNone(body))(told),
  }
}

/** The text before the first special character of a glob, and of its last name that behind the last one. */
function findPlainEnds(body: string): { begin: string; ending: string } {
  const begin = body.slice(0, body.search(/[\\*?[\]{}]|$/))
  let end = body.length
  while (end > 0 && !'\\*?[]{}/'.includes(body[end - 1]!)) end--
  return { begin, ending: body.slice(end) }
}

function compileGlobOrNone(body: string): (path: string) => boolean {
  try {
    return compileGlob(body, true)
  } catch {
    return () => false
  }
}
