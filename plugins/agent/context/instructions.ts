import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, posix, relative } from 'node:path'
import type { VtError } from '../../../core/shapes/index.js'
import { userOf } from '../../../core/system/index.js'
import { block } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { createHiddenFilter, openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { nextCall } from '../../lib/base/index.js'
import { AgentError, type AgentSettings } from '../base/index.js'
import { matcher, ruleOf } from './rule_paths.js'

/** A file of instructions for agents; they are context, never permission. */
export interface Instructions {
  path: string
  text: string
  /** Of the file, where its text is not the whole of it. */
  bytes?: number
}
const hardStop = 131_072
/** What is larger is not read. */
const longest = 4 * hardStop
const deepestImport = 5
const mostImports = 100

/** What decides whether a file may be read: a call of the same session would be judged by the same policies. Throws Refused. */
type Judge = (path: string) => Promise<void>
class Refused extends Error {}

// No call is made: what a session's calls have done before has no part in it.
const judgeOf =
  (kernel: Kernel): Judge =>
  async (path) => {
    const { tool, input } = nextCall('read', { path })
    const { verdict, reason = '' } = await kernel.explain(tool, input, { session: 'instructions' })
    if (verdict !== 'run') throw new Refused(reason)
  }

/**
 * What is written for agents, farthest first: what packages in use say of themselves, the user's own file and rules, files named in the settings, then folder by folder from the
 * root of the repository to the workspace, then its rules. `@path` in them stands for that file. All of it is read as a call would read
 * it: what the policies refuse or a link leads away from is named and not shown. The budget is spent from the nearest outwards; the
 * nearest is never cut. Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE.
 */
export async function instructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
): Promise<Instructions[]> {
  const { home } = kernel.inspection
  const judge = judgeOf(kernel)
  const names = namesOf(kernel, settings)
  const here = (path: string) => inside(workspace, path, judge)
  const own = (path: string) => ownFile(path, home, kernel)
  const found: (Instructions | undefined)[] = [...ofPackages(kernel), await own(join(home, 'AGENTS.md'))]
  for (const name of await ownRules(join(home, 'rules'))) found.push(always(await own(name)))
  const named = isOfWorkspace(kernel, 'instruction_files')
    ? (path: string) => inside(workspace, path, judge, markdown)
    : here
  for (const pattern of settings.instruction_files)
    for (const path of await matching(workspace, pattern)) found.push(await named(path))
  found.push(...(await ofRepository(kernel, workspace, names, judge)))
  found.push(...(await ofFolder(names, here)))
  for (const path of await rulesOf(workspace)) found.push(always(await here(path)))
  return withinBudget(
    found.filter((one) => one !== undefined),
    settings.instruction_max_bytes,
  )
}

/** Whether a repository set this key. */
const isOfWorkspace = (kernel: Kernel, key: 'instruction_files' | 'project_doc_fallback_filenames'): boolean =>
  kernel.inspection.origins().some(({ path, layer }) => layer === 'workspace' && path.startsWith(`agent.${key}`))

const markdown = /\.(?:md|mdc|markdown)$/i

/** Returns new instructions of the folders between the root and a path; outermost first. */
export async function nestedInstructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
  path: string,
  shown: Set<string>,
): Promise<Instructions[]> {
  const judge = judgeOf(kernel)
  const names = namesOf(kernel, settings)
  const found: Instructions[] = []
  const segments = path.split('/')
  if (!(await isFolder(workspace, path))) segments.pop()
  for (let depth = 1; depth <= segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (folder === '' || folder === '.' || shown.has(folder)) continue
    shown.add(folder)
    found.push(...(await ofFolder(names, (name) => inside(workspace, `${folder}/${name}`, judge))))
  }
  for (const file of await rulesOf(workspace)) {
    const rule = shown.has(file) ? undefined : await inside(workspace, file, judge)
    const { paths, text } = ruleOf(rule?.text ?? '')
    if (!rule || !paths?.some((pattern) => matcher(pattern)(path))) continue
    shown.add(file)
    found.push({ ...rule, text })
  }
  return withinBudget(found, settings.instruction_max_bytes)
}

const isFolder = (workspace: Workspace, path: string): Promise<boolean> =>
  workspace.stat(path).then(
    (stat) => stat?.kind === 'directory',
    () => false,
  )

const rulesFolder = '.vtcode/rules'
const mostFiles = 200

/** The rules of the workspace, at any depth. */
const rulesOf = (workspace: Workspace): Promise<string[]> =>
  filesBelow(workspace, rulesFolder, (path) => path.endsWith('.md'))

async function filesBelow(workspace: Workspace, folder: string, matches: (path: string) => boolean): Promise<string[]> {
  const found: string[] = []
  for (const { name, kind } of await workspace.listNames(folder).catch(() => [])) {
    const path = `${folder}/${name}`
    if (kind === 'directory') found.push(...(await filesBelow(workspace, path, matches)))
    else if (kind === 'file' && matches(path)) found.push(path)
    if (found.length >= mostFiles) break
  }
  return found.sort().slice(0, mostFiles)
}

/** The files a pattern of the settings names: a file, or a glob below its fixed beginning. */
async function matching(workspace: Workspace, pattern: string): Promise<string[]> {
  const at = pattern.search(/[*?[{]/)
  if (at < 0) return [pattern]
  const folder = pattern.slice(0, Math.max(0, pattern.lastIndexOf('/', at))) || '.'
  return filesBelow(workspace, folder, matcher(folder === '.' ? `./${pattern}` : pattern))
}

async function ownRules(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  return names
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, mostFiles)
    .map((name) => join(folder, name))
}

/** A rule that counts everywhere; one for certain paths waits until a call goes there. */
function always(rule: Instructions | undefined): Instructions | undefined {
  if (!rule) return undefined
  const { paths, text } = ruleOf(rule.text)
  return paths ? undefined : { ...rule, text }
}

export const shownAs = (all: readonly Instructions[]): string =>
  all.map(({ path, text }) => block('instructions', text.trim(), { path })).join('\n\n')

/** The names of files for agents; those that a repository adds are of files that agents know. */
function namesOf(kernel: Kernel, { project_doc_fallback_filenames: others }: AgentSettings['agent']): string[] {
  const free = !isOfWorkspace(kernel, 'project_doc_fallback_filenames')
  return [
    'AGENTS.override.md',
    'AGENTS.md',
    ...others.filter((name) => !name.includes('/') && (free || markdown.test(name) || /^\.\w+rules$/.test(name))),
  ]
}

/** The first of the names that is there; a CLAUDE.md beside it counts too, unless it only says the same, by a link or by an import. */
async function ofFolder(
  names: readonly string[],
  read: (name: string) => Promise<Instructions | undefined>,
): Promise<Instructions[]> {
  for (const name of names) {
    const one = await read(name)
    if (!one) continue
    const other = name === 'CLAUDE.md' ? undefined : await read('CLAUDE.md')
    return other && other.text.trim() !== one.text.trim() ? [other, one] : [one]
  }
  return []
}

/** What packages tell every model of themselves, as they stand: what they import stays a name. */
function ofPackages(kernel: Kernel): Instructions[] {
  return kernel.inspection.skills().instructions.flatMap(({ plugin, file }) => {
    try {
      refuseHidden(kernel, file)
      return { path: `${plugin}:${basename(file)}`, text: readBytes(file, { limit: hardStop }).toString() }
    } catch (error) {
      return { path: `${plugin}:${basename(file)}`, text: `(not shown: ${(error as Error).message})` }
    }
  })
}

/** A file of the user's; what it imports lies below the folder that is theirs. */
async function ownFile(path: string, home: string, kernel: Kernel): Promise<Instructions | undefined> {
  const root = await realpath(home).catch(() => home)
  return whole(path, join, async (file) => {
    const found = await realpath(file)
    if (file !== path && !found.startsWith(`${root}/`)) throw new Error('outside')
    refuseHidden(kernel, found)
    const bytes = readBytes(found, { limit: longest })
    if (!isUtf8(bytes)) throw new Error(`'${file}' is not text.`)
    return bytes.toString()
  })
}

/** Applies the rules that hide files to a file outside of the workspace, for which there are no calls. */
function refuseHidden({ settings, inspection: { env } }: Kernel, file: string): void {
  if (createHiddenFilter(settings, { root: dirname(file), user: userOf({ env }) })?.(basename(file)))
    throw new Refused('a rule denies reading it')
}

/** Nobody can be asked about what goes into a prompt. */
const whatAsksDenies = (settings: Kernel['settings']): Kernel['settings'] => ({
  ...settings,
  policy: { ...settings.policy, deny: [...settings.policy.deny, ...settings.policy.ask] },
})

/** Folder by folder from the root of the repository to the one above the workspace; nothing there leads out of the repository. */
async function ofRepository(
  kernel: Kernel,
  workspace: Workspace,
  names: readonly string[],
  judge: Judge,
): Promise<Instructions[]> {
  const [root, ...folders] = above(workspace.root)
  if (root === undefined) return []
  const repository = openWorkspace(root, { home: kernel.inspection.home, env: kernel.inspection.env })
  const hidden = [root, workspace.root].map((base) => ({
    base,
    matches: createHiddenFilter(whatAsksDenies(kernel.settings), { root: base, user: workspace.user }),
  }))
  // Rules speak of places as the workspace has them. What lies outside of it no call can name: there each rule counts as in a workspace
  // that is the whole repository, too.
  const judgeThere: Judge = async (path) => {
    const place = join(root, path)
    if (hidden.some(({ base, matches }) => matches?.(relative(base, place))))
      throw new Refused('a rule denies reading it')
    const here = relative(workspace.root, place)
    await judge(here.startsWith('../') ? path : here)
  }
  try {
    const found: Instructions[] = []
    for (const folder of [root, ...folders]) {
      const at = relative(root, folder)
      found.push(
        ...(await ofFolder(names, (name) =>
          inside(repository, posix.join(at, name), judgeThere).then(
            (one) => one && { ...one, path: join(root, one.path) },
          ),
        )),
      )
    }
    return found
  } finally {
    repository.close()
  }
}

/**
 * Most of these files do not exist, and reading a missing one makes a workspace search for similar names: so each is looked up first.
 * `only`: what the file is called, and what a link leads to; not what it imports.
 */
async function inside(
  workspace: Workspace,
  path: string,
  judge: Judge,
  only?: RegExp,
): Promise<Instructions | undefined> {
  if (!(await workspace.stat(path).catch(() => undefined))) return undefined
  const read = async (file: string) => {
    const resolved = workspace.resolve(file)
    const places = [...new Set([file, resolved])]
    if (file === path && !places.every((place) => only?.test(place) ?? true))
      throw new Refused('a workspace names Markdown files as instructions and no others')
    for (const place of places) await judge(place)
    return textOf(workspace, resolved)
  }
  return whole(path, (folder, name) => workspace.normalize(posix.join(folder, name)), read)
}

/** The text of a place that was judged, and of no other: a link may have come in its way since. */
async function textOf(workspace: Workspace, judged: string): Promise<string> {
  await using file = await workspace.openFile(judged)
  if (file.resolved !== judged) throw new Refused('it leads elsewhere than when it was judged')
  const { bytes: size } = file.stat
  if (size > longest)
    throw Object.assign(new Error(`'${judged}' has ${size} bytes; at most ${longest} are read at once.`), {
      code: 'VT_INPUT_TOO_LARGE',
      details: { size_bytes: size },
    })
  const bytes = await file.read(0, longest)
  if (!isUtf8(bytes)) throw new Error(`'${judged}' is not text.`)
  return bytes.toString()
}

/** A file with what it imports; one that cannot be read leaves a note. */
async function whole(
  path: string,
  next: (folder: string, name: string) => string,
  read: (file: string) => Promise<string>,
): Promise<Instructions | undefined> {
  const plain = async (file: string) => (await read(file)).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  try {
    return { path, text: await imported(await plain(path), path, next, plain) }
  } catch (error) {
    const { code, message, details } = ((error as Partial<VtError>).problem ?? error) as {
      code?: string
      message: string
      details?: { size_bytes?: number }
    }
    if (code !== undefined && absent.has(code)) return undefined
    return {
      path,
      text: `(not shown: ${message})`,
      ...(details?.size_bytes !== undefined && { bytes: details.size_bytes }),
    }
  }
}
const absent = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'VT_PATH_NOT_FOUND',
  'VT_PATH_NOT_DIRECTORY',
  'VT_PATH_IS_DIRECTORY',
])

/** A text with each `@path` that stands alone on its line replaced by that file; one that cannot be had leaves a note. */
async function imported(
  text: string,
  path: string,
  next: (folder: string, name: string) => string,
  read: (file: string) => Promise<string>,
): Promise<string> {
  // Files that import each other many times over would grow without end.
  let left = mostImports
  return unfolded(text, [path])

  async function unfolded(text: string, way: readonly string[]): Promise<string> {
    const lines: string[] = []
    let fenced = false
    for (const line of text.split('\n')) {
      if (/^\s*(```|~~~)/.test(line)) fenced = !fenced
      const name = fenced ? undefined : /^@(\S+)\s*$/.exec(line)?.[1]
      lines.push(name === undefined ? line : await importOne(name, way))
    }
    return lines.join('\n')
  }

  async function importOne(name: string, way: readonly string[]): Promise<string> {
    const refused = (why: string) => `(@${name} is not imported: ${why})`
    if (way.length > deepestImport) return refused(`imports are nested more than ${deepestImport} deep`)
    if (left-- <= 0) return refused(`there are more than ${mostImports} imports`)
    try {
      const file = next(dirname(way.at(-1)!), name)
      if (way.includes(file)) return refused('it imports itself')
      return (await unfolded(await read(file), [...way, file])).trimEnd()
    } catch (error) {
      return refused(error instanceof Refused ? error.message.replace(/\.$/, '') : 'file not found')
    }
  }
}

/** The folders from the root of the repository down to the one above the workspace. */
function above(root: string): string[] {
  const folders: string[] = []
  for (let folder = root; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder) return []
    folders.unshift(dirname(folder))
  }
  return folders
}

function withinBudget(all: Instructions[], budget: number): Instructions[] {
  let left = budget
  const kept = [...all].reverse().map((one, index) => {
    const size = one.bytes ?? Buffer.byteLength(one.text)
    if (index === 0 && size > hardStop)
      throw new AgentError(
        'VT_CONTEXT_INSTRUCTIONS_TOO_LARGE',
        `${one.path} has ${size} bytes; at most ${hardStop} are read.`,
      )
    const fits = index === 0 || size <= left
    left -= fits ? size : 0
    return fits ? one : { path: one.path, text: `(${size} bytes, not shown: read the file when it matters)` }
  })
  return kept.reverse()
}
