import { basename, dirname, join } from 'node:path'
import { trimEndChars } from '../base/index.js'
import { compileGlob } from './glob.js'
import { isThere } from '../git/index.js'
import { readExcludeFile, readRuleFile } from './repository_bounds.js'

/**
 * Returns the verdict of one ignore file about a path relative to its folder, and its last name: ignored, kept against
 * an earlier rule, or none.
 */
export type Rules = (path: string, name: string, directory: boolean) => 'ignore' | 'keep' | undefined

/** Names of ignore files in order of precedence. Within one kind the nearest file decides. */
export const ruleFiles = ['.rgignore', '.ignore', '.gitignore', '.git/info/exclude', '.vtcodegitignore'] as const

/** The kinds that belong to one repository: those of an outer repository have no effect in an inner one. */
const GIT_KINDS: readonly string[] = ['.gitignore', '.git/info/exclude']

/** An ignore file with the folder that its paths start from. */
interface Layer {
  kind: (typeof ruleFiles)[number]
  /**
   * Number of leading characters that its paths omit from a workspace path; a prefix (empty or with a final `/`) for a
   * file above the workspace.
   */
  below: number | string
  rules: Rules
}

/** All ignore rules that apply in one folder. */
export class IgnoreRules {
  private constructor(private readonly layers: readonly Layer[]) {}

  /**
   * Reads ignore files above the workspace, which may be part of a larger repository. Those of git are read up to the
   * top of the repository, as git does.
   */
  static readAbove(root: string): IgnoreRules {
    const layers: Layer[] = []
    let below = ''
    let isTop = isThere(join(root, '.git'))
    for (let folder = root; dirname(folder) !== folder; folder = dirname(folder)) {
      below = `${basename(folder)}/${below}`
      const above = dirname(folder)
      for (const kind of ruleFiles.slice(0, -1)) {
        if (isTop && GIT_KINDS.includes(kind)) continue
        const text = kind === '.git/info/exclude' ? readExcludeFile(above) : readRuleFile(join(above, kind))
        if (text !== undefined) layers.push({ kind, below, rules: parseIgnoreRules(text) })
      }
      isTop ||= isThere(join(above, '.git'))
    }
    return new IgnoreRules(layers.sort(byKind))
  }

  /** Returns the rules that apply in a repository inside another: those of git begin again. */
  enterRepository(): IgnoreRules {
    const layers = this.layers.filter(({ kind }) => !GIT_KINDS.includes(kind))
    return layers.length === this.layers.length ? this : new IgnoreRules(layers)
  }

  /** Adds the ignore files of `folder`. `read` returns the text of one kind. */
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

// The sort is stable, so the nearest file of a kind stays first.
const byKind = (a: Layer, b: Layer): number => ruleFiles.indexOf(a.kind) - ruleFiles.indexOf(b.kind)

export function parseIgnoreRules(text: string): Rules {
  const rules = text
    .replace(/^\uFEFF/, '')
    .split(/\r?\n/)
    .flatMap((line) => parseRule(line) ?? [])
  return (path, name, directory) => {
    // A plain loop, because there may be 100,000 rules.
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
  /** The rule applies to the last name only. */
  by_name: boolean
  /** Text at the beginning and the end of every match. */
  begin: string
  ending: string
  matches: (subject: string) => boolean
}

function parseRule(line: string): Rule | undefined {
  // A trailing space counts only when escaped.
  const trimmed = trimEndChars(line, ' ')
  const text = trimmed.endsWith('\\') && trimmed.length < line.length ? `${trimmed} ` : trimmed
  if (text === '' || text.startsWith('#')) return undefined
  const verdict = text.startsWith('!') ? 'keep' : 'ignore'
  const pattern = text.replace(/^!/, '')
  const only_directories = pattern.endsWith('/')
  const body = pattern.replace(/\/$/, '')
  // Compiled on first use: most rules of a large file match few beginnings or endings. An invalid glob matches nothing.
  let known: ((subject: string) => boolean) | undefined
  return {
    verdict,
    only_directories,
    by_name: !body.includes('/'),
    ...findPlainEnds(body.replace(/^\//, '')),
    matches: (subject) => (known ??= compileGlobOrNone(body))(subject),
  }
}

/** Returns the text before the first special character of a glob, and the text after the last one in its last name. */
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
