import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { basename, dirname, join, posix, relative } from 'node:path'
import { isInside } from '../../../core/system/index.js'
import { block } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { createHiddenFilter, openWorkspace, type Workspace } from '../../../core/workspace/index.js'
import { AgentError, type AgentSettings } from '../base/index.js'
import { Refused } from './imports.js'
import {
  createInstructionReader,
  findUserFolder,
  MARKDOWN_FILE,
  MAX_INSTRUCTION_BYTES,
  readUserFile,
  readWorkspaceFile,
  refuseHidden,
  type InstructionReader,
  type Instructions,
  type ReadJudge,
} from './instruction_files.js'
import { CLAUDE_FILES, LOCAL_FILES, RULE_FOLDERS, SINGLE_FILES, USER_FILES, USER_RULES } from './layouts.js'
import { createPathMatcher, parseRuleFile } from './rule_paths.js'

/**
 * Reads all instructions for agents, farthest first: packages, the user's file and rules, files of the settings, the
 * folders from the root of the repository to the folder of the start, the rules of the workspace. `@path` imports a
 * file. The policies of calls apply: a refused file is listed without its text. The byte limit is spent from the
 * nearest file outwards; the nearest is always complete. `onUnused` gets sentences about files that are not used.
 * Throws VT_CONTEXT_INSTRUCTIONS_TOO_LARGE.
 */
export async function readInstructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
  onUnused?: InstructionReader['onUnused'],
): Promise<Instructions[]> {
  const reader = createInstructionReader(kernel, onUnused)
  const names = listFileNames(kernel, settings)
  const readHere = (path: string) => readWorkspaceFile(workspace, path, reader)
  const found: (Instructions | undefined)[] = [...readPackages(kernel), ...(await readUser(reader))]
  const readNamed = isOfWorkspace(kernel, 'instruction_files')
    ? (path: string) => readWorkspaceFile(workspace, path, reader, MARKDOWN_FILE)
    : readHere
  for (const pattern of settings.instruction_files)
    for (const path of await listMatches(workspace, pattern)) found.push(await readNamed(path))
  found.push(...(await readRepository(workspace, names, reader)))
  found.push(...(await readFolder(names, readHere, reader)))
  for (const folder of listStartFolders(workspace))
    found.push(...(await readFolder(names, (name) => readHere(`${folder}/${name}`), reader)))
  for (const path of await listRules(workspace)) found.push(toGeneralRule(await readHere(path), reader))
  return applyBudget(
    found.filter((one) => one !== undefined),
    settings.instruction_max_bytes,
  )
}

/** Returns whether the workspace sets this key. */
const isOfWorkspace = (kernel: Kernel, key: 'instruction_files' | 'project_doc_fallback_filenames'): boolean =>
  kernel.inspection.origins().some(({ path, layer }) => layer === 'workspace' && path.startsWith(`agent.${key}`))

/**
 * Reads the user's file and rules. Without an own file, the one of another program counts; the others are reported.
 */
async function readUser(reader: InstructionReader): Promise<(Instructions | undefined)[]> {
  const { home } = reader.kernel.inspection
  const user = findUserFolder(reader.kernel)
  const found: (Instructions | undefined)[] = []
  for (const file of [join(home, 'AGENTS.md'), ...USER_FILES.map((name) => join(user, name))]) {
    const [used] = found
    if (used && existsSync(file)) reader.onUnused(`${file} is not used: ${used.path} is.`)
    else if (!used) found.push(...[(await readUserFile(file, reader)) ?? []].flat())
  }
  for (const folder of [join(home, 'rules'), join(user, USER_RULES)])
    for (const name of await listUserRules(folder)) found.push(toGeneralRule(await readUserFile(name, reader), reader))
  return found
}

/** Returns the folders from the root of the workspace to the folder of the start, without the root, outermost first. */
export function listStartFolders({ root }: Pick<Workspace, 'root'>): string[] {
  const start = process.cwd()
  if (start === root || !isInside(root, start)) return []
  const segments = relative(root, start).split('/')
  return segments.map((_, index) => segments.slice(0, index + 1).join('/'))
}

/** Returns new instructions of the folders from the root to a path, outermost first. */
export async function readNestedInstructions(
  kernel: Kernel,
  workspace: Workspace,
  settings: AgentSettings['agent'],
  path: string,
  shown: Set<string>,
): Promise<Instructions[]> {
  const reader = createInstructionReader(kernel)
  const names = listFileNames(kernel, settings)
  const found: Instructions[] = []
  const segments = path.split('/')
  if (!(await isFolder(workspace, path))) segments.pop()
  for (let depth = 1; depth <= segments.length; depth++) {
    const folder = segments.slice(0, depth).join('/')
    if (folder === '' || folder === '.' || shown.has(folder)) continue
    shown.add(folder)
    found.push(
      ...(await readFolder(names, (name) => readWorkspaceFile(workspace, `${folder}/${name}`, reader), reader)),
    )
  }
  for (const file of await listRules(workspace)) {
    const rule = shown.has(file) ? undefined : await readWorkspaceFile(workspace, file, reader)
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

const MAX_FILES = 200

/** Lists the rule files of the workspace, at any depth. */
async function listRules(workspace: Workspace): Promise<string[]> {
  const found: string[] = []
  for (const [folder, end] of RULE_FOLDERS)
    found.push(...(await listFilesBelow(workspace, folder, (path) => end.test(path))))
  return found.slice(0, MAX_FILES)
}

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

/**
 * Returns a rule without its front matter, and a line for one that waits until it is asked for; `undefined` for a rule
 * of certain paths, which is read later.
 */
function toGeneralRule(rule: Instructions | undefined, { onUnused }: InstructionReader): Instructions | undefined {
  if (!rule) return undefined
  const { paths, onDemand, text } = parseRuleFile(rule.text)
  if (paths) return undefined
  if (onDemand === '') return void onUnused(`${rule.path} is not used: it is a rule that a person asks for.`)
  return { ...rule, text: onDemand === undefined ? text : `(${onDemand}: read this file when it matters)` }
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

type ReadName = (name: string) => Promise<Instructions | undefined>

/**
 * Reads the instructions of a folder: the file of Claude Code if its text differs, the first existing file of the
 * names, and the person's own additions. A file of another program counts only where there is no other.
 */
async function readFolder(
  names: readonly string[],
  read: ReadName,
  { onUnused }: InstructionReader,
): Promise<Instructions[]> {
  const main = await readFirst(names, read)
  const claude = isClaudeFile(main) ? undefined : await readFirst(CLAUDE_FILES, read)
  const local = await readFirst(LOCAL_FILES, read)
  const found = joinTexts(claude, main)
  if (found.length === 0 && !local) return [(await readFirst(SINGLE_FILES, read)) ?? []].flat()
  for (const name of SINGLE_FILES) {
    const other = await read(name)
    if (other && !found.some(({ text }) => text.includes(other.text.trim())))
      onUnused(`${other.path} is not used: ${(found[0] ?? local)!.path} is.`)
  }
  return local ? [...found, local] : found
}

const isClaudeFile = (one: Instructions | undefined): boolean => basename(one?.path ?? '') === 'CLAUDE.md'

async function readFirst(names: readonly string[], read: ReadName): Promise<Instructions | undefined> {
  for (const name of names) {
    const one = await read(name)
    if (one) return one
  }
  return undefined
}

/** Returns both texts, or the one that contains the other. */
function joinTexts(claude: Instructions | undefined, main: Instructions | undefined): Instructions[] {
  if (!claude || !main) return [claude ?? main ?? []].flat()
  if (main.text.includes(claude.text.trim())) return [main]
  return claude.text.includes(main.text.trim()) ? [claude] : [claude, main]
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
  workspace: Workspace,
  names: readonly string[],
  reader: InstructionReader,
): Promise<Instructions[]> {
  const { kernel, judge } = reader
  const [root, ...folders] = listFoldersAbove(workspace.root)
  if (root === undefined) return []
  const repository = openWorkspace(root, { home: kernel.inspection.home, env: kernel.inspection.env })
  const hidden = [root, workspace.root].map((base) => ({
    base,
    matches: createHiddenFilter(denyAsked(kernel.settings), { root: base, user: workspace.user }),
  }))
  // Rules use paths of the workspace. Outside of it, each rule also applies as if the repository were the workspace.
  const judgeOutside: ReadJudge = async (path) => {
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
        ...(await readFolder(
          names,
          (name) =>
            readWorkspaceFile(repository, posix.join(at, name), { ...reader, judge: judgeOutside }).then(
              (one) => one && { ...one, path: join(root, one.path) },
            ),
          reader,
        )),
      )
    }
    return found
  } finally {
    repository.close()
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
