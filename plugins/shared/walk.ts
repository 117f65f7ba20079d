/** A walk of our own with ripgrep's rules: slower, but it goes through the workspace at every step, so that links can be followed inside it. */
import { join } from 'node:path/posix'
import { setImmediate as turn } from 'node:timers/promises'
import { VtError, type Context, type EntryKind, type Workspace } from '../../core/index.js'
import { parentOf } from './entries.js'
import type { Listing } from './enumerate.js'
import { glob } from './glob.js'
import { rulesOf, type Rules } from './ignore_rules.js'
import { byPath } from './order.js'
import { choose, leftOutBelow, walkLimits, type Discovery } from './ripgrep.js'

/** The files of rules in a folder, the first that speaks decides; in the root of the workspace there are two more. */
const ruleFiles = ['.ignore', '.gitignore']
const rootRuleFiles = ['.git/info/exclude', '.vtcodegitignore']

interface Level {
  folder: string
  /** By file of rules. */
  rules: Map<string, Rules>
}

/** Lists the files below `base`. */
export async function walkOurselves(context: Context, base: string, discovery: Discovery): Promise<Listing> {
  const { workspace, signal } = context
  const always = new Set(discovery.left_out ?? leftOutBelow(base, discovery.globs))
  const passes = globFilter(base, discovery)
  const listing: Listing = { files: [], ignored: [], hidden: [], incomplete: false, complaints: [] }
  const end = Date.now() + walkLimits.seconds * 1000
  const above: Level[] = []
  for (const folder of ancestors(base)) above.push(await levelOf(workspace, folder))
  await descend(base, above, [base], 1)
  listing.files.sort(byPath)
  return listing

  /** `trail` holds the directories that we stand in, with links resolved; the last is `folder` itself. */
  async function descend(folder: string, levels: Level[], trail: string[], depth: number): Promise<void> {
    if (depth > (discovery.max_depth ?? 64) || listing.incomplete) return
    await turn()
    signal.throwIfAborted()
    const here = [...levels, await levelOf(workspace, folder)]
    for (const { name, kind } of await names(folder)) {
      const path = folder === '.' ? name : `${folder}/${name}`
      if (always.has(name)) continue
      if (name.startsWith('.') && !discovery.include_hidden) listing.hidden.push(path)
      else if (!discovery.include_ignored && ignored(here, path, kind === 'directory')) listing.ignored.push(path)
      else await visit(path, kind, here, [...trail, join(trail.at(-1)!, name)], depth)
    }
  }

  /** The last of `trail` is where the entry would be if it is a directory. */
  async function visit(path: string, kind: EntryKind, levels: Level[], trail: string[], depth: number): Promise<void> {
    if (listing.files.length >= walkLimits.entries || Date.now() > end) {
      listing.incomplete = true
      return
    }
    if (kind === 'directory') {
      if (passes(path, true)) await descend(path, levels, trail, depth + 1)
    } else if (kind === 'file') {
      if (passes(path, false)) listing.files.push(path)
    } else if (kind === 'link' && discovery.follow) {
      const target = await workspace.open(path).catch(outside)
      if (!target) return
      const { resolved } = target
      await target.close()
      if (target.kind === 'file') return visit(path, 'file', levels, trail, depth)
      // A link to where we stand would never end.
      const way = trail.slice(0, -1)
      if (!way.includes(resolved) && passes(path, true)) await descend(path, levels, [...way, resolved], depth + 1)
    }
  }

  async function names(folder: string): Promise<{ name: string; kind: EntryKind }[]> {
    try {
      return await workspace.names(folder)
    } catch (error) {
      if (!(error instanceof VtError)) throw error
      if (error.code !== 'VT_PATH_NOT_FOUND') listing.complaints.push(error.problem.message)
      return []
    }
  }
}

function outside(error: unknown): undefined {
  if (error instanceof VtError) return undefined
  throw error
}

/** The folders above `path`, from the root on. */
function ancestors(path: string): string[] {
  const found: string[] = []
  for (let folder = path; folder !== '.'; ) found.unshift((folder = parentOf(folder)))
  return found
}

async function levelOf(workspace: Workspace, folder: string): Promise<Level> {
  const rules = new Map<string, Rules>()
  for (const name of folder === '.' ? [...ruleFiles, ...rootRuleFiles] : ruleFiles) {
    const text = await workspace.text(join(folder, name), { max_bytes: 1_048_576 }).catch(outside)
    if (text !== undefined) rules.set(name, rulesOf(text))
  }
  return { folder, rules }
}

/** Files of one name speak before those of the next, and the nearest of them first. */
function ignored(levels: Level[], path: string, directory: boolean): boolean {
  for (const name of [...ruleFiles, ...rootRuleFiles]) {
    for (const { folder, rules } of levels.toReversed()) {
      const verdict = rules.get(name)?.(folder === '.' ? path : path.slice(folder.length + 1), directory)
      if (verdict) return verdict === 'ignore'
    }
  }
  return false
}

/** What globs and extensions leave: the last glob that matches decides. */
function globFilter(base: string, { globs = [], file_extensions = [] }: Discovery): (path: string, directory: boolean) => boolean {
  const tests = globs.map((text) => ({ not: text.startsWith('!'), matches: glob(text.replace(/^!/, '').replace(/\/$/, ''), true) }))
  const endings = file_extensions.map((extension) => `.${extension.replace(/^\./, '')}`)
  const chosen = choose(globs)
  return (path, directory) => {
    const relative = base === '.' ? path : path.slice(base.length + 1)
    const last = tests.findLast(({ matches }) => matches(relative))
    if (last?.not) return false
    if (directory) return true
    return (!chosen || last !== undefined) && (endings.length === 0 || endings.some((ending) => path.endsWith(ending)))
  }
}
