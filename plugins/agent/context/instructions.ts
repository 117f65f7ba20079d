import { isUtf8 } from 'node:buffer'
import { existsSync } from 'node:fs'
import { readdir, realpath } from 'node:fs/promises'
import { dirname, join, posix } from 'node:path'
import type { VtError } from '../../../core/base/index.js'
import { homeOf } from '../../../core/config/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { glob } from '../../lib/search/index.js'
import { AgentError, type AgentSettings } from '../base/index.js'

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

/**
 * What is written for agents, farthest first: the user's own file and rules, files named in the settings, then folder by folder from the
 * root of the repository to the workspace, then its rules. `@path` in them stands for that file. The budget is spent from the nearest
 * outwards; the nearest is never cut. Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE.
 */
export async function instructions(workspace: Workspace, settings: AgentSettings['agent'], env: Readonly<Record<string, string | undefined>>): Promise<Instructions[]> {
  const home = homeOf({ env })
  const here = (path: string) => inside(workspace, path)
  const found: (Instructions | undefined)[] = [await own(join(home, 'AGENTS.md'), home)]
  for (const name of await ownRules(join(home, 'rules'))) found.push(always(await own(name, home)))
  for (const pattern of settings.instruction_files) for (const path of await matching(workspace, pattern)) found.push(await here(path))
  const folders = above(workspace.root)
  for (const folder of folders) found.push(...(await ofFolder(settings, (name) => own(join(folder, name), folders[0]!))))
  found.push(...(await ofFolder(settings, here)))
  for (const path of await rulesOf(workspace)) found.push(always(await here(path)))
  return withinBudget(found.filter((one) => one !== undefined), settings.instruction_max_bytes)
}

/** The instructions of the folders on the way to a path, below the root, that were not shown before; outermost first. */
export async function nestedInstructions(workspace: Workspace, settings: AgentSettings['agent'], path: string, shown: Set<string>): Promise<Instructions[]> {
  const found: Instructions[] = []
  const segments = path.split('/')
  if (!(await isFolder(workspace, path))) segments.pop()
  for (let depth = 1; depth <= segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (folder === '' || folder === '.' || shown.has(folder)) continue
    shown.add(folder)
    found.push(...(await ofFolder(settings, (name) => inside(workspace, `${folder}/${name}`))))
  }
  for (const file of await rulesOf(workspace)) {
    const rule = shown.has(file) ? undefined : await inside(workspace, file)
    const { paths, text } = ruleOf(rule?.text ?? '')
    if (!rule || !paths?.some((pattern) => glob(pattern, true)(path))) continue
    shown.add(file)
    found.push({ ...rule, text })
  }
  return withinBudget(found, settings.instruction_max_bytes)
}

const isFolder = (workspace: Workspace, path: string): Promise<boolean> => workspace.stat(path).then((stat) => stat?.kind === 'directory', () => false)

const rulesFolder = '.vtcode/rules'
const mostFiles = 200

/** The rules of the workspace, at any depth. */
const rulesOf = (workspace: Workspace): Promise<string[]> => filesBelow(workspace, rulesFolder, (path) => path.endsWith('.md'))

async function filesBelow(workspace: Workspace, folder: string, matches: (path: string) => boolean): Promise<string[]> {
  const found: string[] = []
  for (const { name, kind } of await workspace.names(folder).catch(() => [])) {
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
  return filesBelow(workspace, folder, glob(folder === '.' ? `./${pattern}` : pattern, true))
}

async function ownRules(folder: string): Promise<string[]> {
  const names = await readdir(folder, { recursive: true }).catch(() => [])
  return names.filter((name) => name.endsWith('.md')).sort().slice(0, mostFiles).map((name) => join(folder, name))
}

/** A rule without its front matter; `paths` are those it is for. gray-matter cannot read what people write here: to YAML a pattern without quotes that begins with `*` is a reference to nothing. */
function ruleOf(text: string): { paths?: string[]; text: string } {
  const [whole, front] = /^---\n([\s\S]*?)\n---\n?/.exec(text) ?? []
  if (whole === undefined) return { text }
  const declared = /^paths:[ \t]*(.*(?:\n[ \t]+-.*)*)/m.exec(front!)?.[1]
  const paths = declared?.replace(/^\[|\]$/g, '').split(/[\n,]/).map((item) => item.trim().replace(/^-\s*/, '').replace(/^(['"])(.*)\1$/, '$2')).filter(Boolean)
  return { ...(paths && paths.length > 0 && { paths }), text: text.slice(whole.length) }
}

/** A rule that counts everywhere; one for certain paths waits until a call goes there. */
function always(rule: Instructions | undefined): Instructions | undefined {
  if (!rule) return undefined
  const { paths, text } = ruleOf(rule.text)
  return paths ? undefined : { ...rule, text }
}

export const shownAs = (all: readonly Instructions[]): string => all.map(({ path, text }) => `<instructions path="${path}">\n${text.trim()}\n</instructions>`).join('\n\n')

const namesOf = ({ project_doc_fallback_filenames: others }: AgentSettings['agent']): string[] => ['AGENTS.override.md', 'AGENTS.md', ...others.filter((name) => !name.includes('/'))]

/** The first of the names that is there; a CLAUDE.md beside it counts too, unless it only says the same, by a link or by an import. */
async function ofFolder(settings: AgentSettings['agent'], read: (name: string) => Promise<Instructions | undefined>): Promise<Instructions[]> {
  for (const name of namesOf(settings)) {
    const one = await read(name)
    if (!one) continue
    const other = name === 'CLAUDE.md' ? undefined : await read('CLAUDE.md')
    return other && other.text.trim() !== one.text.trim() ? [other, one] : [one]
  }
  return []
}

/** A file of the user's or above the workspace; what it imports lies below `root`. */
async function own(path: string, root: string): Promise<Instructions | undefined> {
  const real = await realpath(root).catch(() => root)
  return whole(path, join, async (file) => {
    const found = await realpath(file)
    if (file !== path && !found.startsWith(`${real}/`)) throw new Error('outside')
    // Above the workspace anybody's pipe may lie.
    const bytes = readBytes(found, { limit: longest })
    if (!isUtf8(bytes)) throw new Error(`'${file}' is not text.`)
    return bytes.toString()
  })
}

/** Most of these files do not exist, and reading a missing one makes a workspace search for similar names: so each is looked up first. */
async function inside(workspace: Workspace, path: string): Promise<Instructions | undefined> {
  if (!(await workspace.stat(path).catch(() => undefined))) return undefined
  return whole(path, (folder, name) => workspace.normalize(posix.join(folder, name)), (file) => workspace.text(file, { max_bytes: longest }))
}

/** A file with what it imports; one that cannot be read leaves a note. */
async function whole(path: string, next: (folder: string, name: string) => string, read: (file: string) => Promise<string>): Promise<Instructions | undefined> {
  const plain = async (file: string) => (await read(file)).replace(/^\uFEFF/, '').replaceAll('\r\n', '\n')
  try {
    return { path, text: await imported(await plain(path), path, next, plain) }
  } catch (error) {
    const { code, message, details } = ((error as Partial<VtError>).problem ?? error) as { code?: string; message: string; details?: { size_bytes?: number } }
    if (code !== undefined && absent.has(code)) return undefined
    return { path, text: `(not shown: ${message})`, ...(details?.size_bytes !== undefined && { bytes: details.size_bytes }) }
  }
}
const absent = new Set(['ENOENT', 'ENOTDIR', 'EISDIR', 'VT_PATH_NOT_FOUND', 'VT_PATH_NOT_DIRECTORY', 'VT_PATH_IS_DIRECTORY'])

/** A text with each `@path` that stands alone on its line replaced by that file; one that cannot be had leaves a note. */
async function imported(text: string, path: string, next: (folder: string, name: string) => string, read: (file: string) => Promise<string>): Promise<string> {
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
    } catch {
      return refused('there is no such file here')
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
    if (index === 0 && size > hardStop) throw new AgentError('VT_CONTEXT_INSTRUCTIONS_TOO_LARGE', `${one.path} has ${size} bytes; at most ${hardStop} are read.`)
    const fits = index === 0 || size <= left
    left -= fits ? size : 0
    return fits ? one : { path: one.path, text: `(${size} bytes, not shown: read the file when it matters)` }
  })
  return kept.reverse()
}
