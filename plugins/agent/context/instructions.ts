import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { basename, dirname, join, posix, relative } from 'node:path'
import type { VtError } from '../../../core/shapes/index.js'
import { resolveUserFolder } from '../../../core/system/index.js'
import { block } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { createHiddenFilter, openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { nextCall } from '../../lib/base/index.js'
import { AgentError, type AgentSettings } from '../base/index.js'
import { createPathMatcher, parseRuleFile } from './rule_paths.js'

/** A file of instructions for agents. Instructions are context and never grant permission. */
export interface Instructions {
  path: string
  text: string
  /** The size of the file if `text` is not its content. */
  bytes?: number
}
const MAX_INSTRUCTION_BYTES = 131_072
/** Larger files are not read. */
const MAX_FILE_BYTES = 4 * MAX_INSTRUCTION_BYTES
const MAX_IMPORT_DEPTH = 5
const MAX_IMPORTS = 100

/** Checks that the policies of calls allow reading a file. Throws Refused. */
type Judge = (path: string) => Promise<void>
class Refused extends Error {}

// The policies see a session of its own, so that earlier calls have no influence.
const createJudge =
  (kernel: Kernel): Judge =>
  async (path) => {
    const { tool, input } = nextCall('read', { path })
    const { verdict, reason = '' } = await kernel.explain(tool, input, { session: 'instructions' })
    if (verdict !== 'run') throw new Refused(reason)
  }

/**
 * Reads all instructions for agents, farthest first: packages, the user's file and rules, files of the settings, the
 * folders from the root of the repository to the workspace, the rules of the workspace. A line `@path` imports that
 * file. The policies of calls apply: a refused file is listed without its text. The byte limit is spent from the
 * nearest file outwards; the nearest is always complete. Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE.
 */
export async function readInstructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
): Promise<Instructions[]> {
  const { home } = kernel.inspection
  const judge = createJudge(kernel)
  const names = listFileNames(kernel, settings)
  const readHere = (path: string) => readWorkspaceFile(workspace, path, judge)
  const readOwn = (path: string) => readUserFile(path, home, kernel)
  const found: (Instructions | undefined)[] = [...readPackages(kernel), await readOwn(join(home, 'AGENTS.md'))]
  for (const name of await listUserRules(join(home, 'rules'))) found.push(toGeneralRule(await readOwn(name)))
  const readNamed = isOfWorkspace(kernel, 'instruction_files')
    ? (path: string) => readWorkspaceFile(workspace, path, judge, MARKDOWN_FILE)
    : readHere
  for (const pattern of settings.instruction_files)
    for (const path of await listMatches(workspace, pattern)) found.push(await readNamed(path))
  found.push(...(await readRepository(kernel, workspace, names, judge)))
  found.push(...(await readFolder(names, readHere)))
  for (const path of await listRules(workspace)) found.push(toGeneralRule(await readHere(path)))
  return applyBudget(
    found.filter((one) => one !== undefined),
    settings.instruction_max_bytes,
  )
}

/** Returns whether the workspace sets this key. */
const isOfWorkspace = (kernel: Kernel, key: 'instruction_files' | 'project_doc_fallback_filenames'): boolean =>
  kernel.inspection.origins().some(({ path, layer }) => layer === 'workspace' && path.startsWith(`agent.${key}`))

const MARKDOWN_FILE = /\.(?:md|mdc|markdown)$/i

/** Returns new instructions of the folders from the root to a path, outermost first. */
export async function readNestedInstructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
  path: string,
  shown: Set<string>,
): Promise<Instructions[]> {
  const judge = createJudge(kernel)
  const names = listFileNames(kernel, settings)
  const found: Instructions[] = []
  const segments = path.split('/')
  if (!(await isFolder(workspace, path))) segments.pop()
  for (let depth = 1; depth <= segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (folder === '' || folder === '.' || shown.has(folder)) continue
    shown.add(folder)
    found.push(...(await readFolder(names, (name) => readWorkspaceFile(workspace, `${folder}/${name}`, judge))))
  }
  for (const file of await listRules(workspace)) {
    const rule = shown.has(file) ? undefined : await readWorkspaceFile(workspace, file, judge)
    const { paths, text } = parseRuleFile(rule?.text ?? '')
    if (!rule || !paths?.some((pattern) => createPathMatcher(pattern)(path))) continue
    shown.add(file)
    found.push({ ...rule, text })
  }
  return applyBudget(found, settings.instruction_max_bytes)
}

const isFolder = (workspace: Workspace, path: string): Promise<boolean> =>
  workspace.stat(path).then(
    (stat) => stat?.kind === 'directory',
    () => false,
  )

const RULES_FOLDER = '.vtcode/rules'
const MAX_FILES = 200

/** Lists the rule files of the workspace, at any depth. */
const listRules = (workspace: Workspace): Promise<string[]> =>
  listFilesBelow(workspace, RULES_FOLDER, (path) => path.endsWith('.md'))

async function listFilesBelow(
  workspace: Workspace,
  folder: string,
  matches: (path: string) => boolean,
): Promise<string[]> {
  const found: string[] = []
  for (const { name, kind } of await workspace.listNames(folder).catch(() => [])) {
    const path = `${folder}/${name}`
    if (kind === 'directory') found.push(...(await listFilesBelow(workspace, path, matches)))
    else if (kind === 'file' && matches(path)) found.push(path)
    if (found.length >= MAX_FILES) break
  }
  return found.sort().slice(0, MAX_FILES)
}

/** Lists the files of a pattern of the settings: a path or a glob. */
async function listMatches(workspace: Workspace, pattern: string): Promise<string[]> {
  const at = pattern.search(/[*?[{]/)
  if (at < 0) return [pattern]
  const folder = pattern.slice(0, Math.max(0, pattern.lastIndexOf('/', at))) || '.'
  return listFilesBelow(workspace, folder, createPathMatcher(folder === '.' ? `./${pattern}` : pattern))
}

async function listUserRules(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  return names
    .filter((name) => name.endsWith('.md'))
    .sort()
    .slice(0, MAX_FILES)
    .map((name) => join(folder, name))
}

/** Returns a rule without its front matter; `undefined` for a rule of certain paths, which is read later. */
function toGeneralRule(rule: Instructions | undefined): Instructions | undefined {
  if (!rule) return undefined
  const { paths, text } = parseRuleFile(rule.text)
  return paths ? undefined : { ...rule, text }
}

export const renderInstructions = (all: readonly Instructions[]): string =>
  all.map(({ path, text }) => block('instructions', text.trim(), { path })).join('\n\n')

/** Lists the names of instruction files. A workspace may only add Markdown files and names such as `.xrules`. */
function listFileNames(kernel: Kernel, { project_doc_fallback_filenames: others }: AgentSettings['agent']): string[] {
  const free = !isOfWorkspace(kernel, 'project_doc_fallback_filenames')
  return [
    'AGENTS.override.md',
    'AGENTS.md',
    ...others.filter((name) => !name.includes('/') && (free || MARKDOWN_FILE.test(name) || /^\.\w+rules$/.test(name))),
  ]
}

/** Reads the first existing file of the names, and a CLAUDE.md with different text. */
async function readFolder(
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

/** Reads the instructions of packages. Their imports are not expanded. */
function readPackages(kernel: Kernel): Instructions[] {
  return kernel.inspection.skills().instructions.flatMap(({ plugin, file }) => {
    try {
      refuseHidden(kernel, file)
      return { path: `${plugin}:${basename(file)}`, text: readBytes(file, { limit: MAX_INSTRUCTION_BYTES }).toString() }
    } catch (error) {
      return { path: `${plugin}:${basename(file)}`, text: `(not shown: ${(error as Error).message})` }
    }
  })
}

/** Reads a file of the user. Imports must be inside the user's folder. */
async function readUserFile(path: string, home: string, kernel: Kernel): Promise<Instructions | undefined> {
  const root = await realpath(home).catch(() => home)
  return readWithImports(path, join, async (file) => {
    const found = await realpath(file)
    if (file !== path && !found.startsWith(`${root}/`)) throw new Error('outside')
    refuseHidden(kernel, found)
    const bytes = readBytes(found, { limit: MAX_FILE_BYTES })
    if (!isUtf8(bytes)) throw new Error(`'${file}' is not text.`)
    return bytes.toString()
  })
}

/** Throws Refused for a hidden file outside of the workspace, where policies of calls do not apply. */
function refuseHidden({ settings, inspection: { env } }: Kernel, file: string): void {
  if (createHiddenFilter(settings, { root: dirname(file), user: resolveUserFolder({ env }) })?.(basename(file)))
    throw new Refused('a rule denies reading it')
}

/** Returns settings whose `ask` rules deny, because a prompt cannot wait for an answer. */
const denyAsked = (settings: Kernel['settings']): Kernel['settings'] => ({
  ...settings,
  policy: { ...settings.policy, deny: [...settings.policy.deny, ...settings.policy.ask] },
})

/**
 * Reads the folders from the root of the repository to the parent of the workspace. Links must stay in the
 * repository.
 */
async function readRepository(
  kernel: Kernel,
  workspace: Workspace,
  names: readonly string[],
  judge: Judge,
): Promise<Instructions[]> {
  const [root, ...folders] = listFoldersAbove(workspace.root)
  if (root === undefined) return []
  const repository = openWorkspace(root, { home: kernel.inspection.home, env: kernel.inspection.env })
  const hidden = [root, workspace.root].map((base) => ({
    base,
    matches: createHiddenFilter(denyAsked(kernel.settings), { root: base, user: workspace.user }),
  }))
  // Rules use paths of the workspace. Outside of it, each rule also applies as if the repository were the workspace.
  const judgeOutside: Judge = async (path) => {
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
        ...(await readFolder(names, (name) =>
          readWorkspaceFile(repository, posix.join(at, name), judgeOutside).then(
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
 * Reads a file of the workspace. It checks first that the file exists: reading a missing file would search for
 * similar names.
 * `only`: pattern for the name of the file and of the target of a link, not for imports.
 */
async function readWorkspaceFile(
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
      throw new Refused('a workspace may add only Markdown files as instructions')
    for (const place of places) await judge(place)
    return readJudgedFile(workspace, resolved)
  }
  return readWithImports(path, (folder, name) => workspace.normalize(posix.join(folder, name)), read)
}

/** Reads a path after its check, and rejects a link that changed its target since. */
async function readJudgedFile(workspace: Workspace, judged: string): Promise<string> {
  await using file = await workspace.openFile(judged)
  if (file.resolved !== judged) throw new Refused('its link changed while it was read')
  const { bytes: size } = file.stat
  if (size > MAX_FILE_BYTES)
    throw Object.assign(new Error(`'${judged}' has ${size} bytes; at most ${MAX_FILE_BYTES} are read at once.`), {
      code: 'VT_INPUT_TOO_LARGE',
      details: { size_bytes: size },
    })
  const bytes = await file.read(0, MAX_FILE_BYTES)
  if (!isUtf8(bytes)) throw new Error(`'${judged}' is not text.`)
  return bytes.toString()
}

/** Reads a file with its imports; an unreadable file becomes a note. */
async function readWithImports(
  path: string,
  next: (folder: string, name: string) => string,
  read: (file: string) => Promise<string>,
): Promise<Instructions | undefined> {
  const plain = async (file: string) => (await read(file)).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  try {
    return { path, text: await expandImports(await plain(path), path, next, plain) }
  } catch (error) {
    const { code, message, details } = ((error as Partial<VtError>).problem ?? error) as {
      code?: string
      message: string
      details?: { size_bytes?: number }
    }
    if (code !== undefined && ABSENT_CODES.has(code)) return undefined
    return {
      path,
      text: `(not shown: ${message})`,
      ...(details?.size_bytes !== undefined && { bytes: details.size_bytes }),
    }
  }
}
const ABSENT_CODES = new Set([
  'ENOENT',
  'ENOTDIR',
  'EISDIR',
  'VT_PATH_NOT_FOUND',
  'VT_PATH_NOT_DIRECTORY',
  'VT_PATH_IS_DIRECTORY',
])

/** Replaces each line `@path` of a text with that file; an unreadable file becomes a note. */
async function expandImports(
  text: string,
  path: string,
  next: (folder: string, name: string) => string,
  read: (file: string) => Promise<string>,
): Promise<string> {
  // The limit stops files that import each other repeatedly.
  let left = MAX_IMPORTS
  return expandLines(text, [path])

  async function expandLines(text: string, way: readonly string[]): Promise<string> {
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
    const formatRefusal = (why: string) => `(@${name} is not imported: ${why})`
    if (way.length > MAX_IMPORT_DEPTH) return formatRefusal(`imports are nested more than ${MAX_IMPORT_DEPTH} deep`)
    if (left-- <= 0) return formatRefusal(`there are more than ${MAX_IMPORTS} imports`)
    try {
      const file = next(dirname(way.at(-1)!), name)
      if (way.includes(file)) return formatRefusal('it imports itself')
      return (await expandLines(await read(file), [...way, file])).trimEnd()
    } catch (error) {
      return formatRefusal(error instanceof Refused ? error.message.replace(/\.$/, '') : 'file not found')
    }
  }
}

/** Lists the folders from the root of the repository to the parent of the workspace; empty outside of a repository. */
function listFoldersAbove(root: string): string[] {
  const folders: string[] = []
  for (let folder = root; !existsSync(join(folder, '.git')); folder = dirname(folder)) {
    if (dirname(folder) === folder) return []
    folders.unshift(dirname(folder))
  }
  return folders
}

function applyBudget(all: Instructions[], budget: number): Instructions[] {
  let left = budget
  const kept = [...all].reverse().map((one, index) => {
    const size = one.bytes ?? Buffer.byteLength(one.text)
    if (index === 0 && size > MAX_INSTRUCTION_BYTES)
      throw new AgentError(
        'VT_CONTEXT_INSTRUCTIONS_TOO_LARGE',
        `${one.path} has ${size} bytes; at most ${MAX_INSTRUCTION_BYTES} are read.`,
      )
    const fits = index === 0 || size <= left
    left -= fits ? size : 0
    return fits ? one : { path: one.path, text: `(${size} bytes, not shown: read the file when it matters)` }
  })
  return kept.reverse()
}
