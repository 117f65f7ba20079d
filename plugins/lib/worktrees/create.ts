import { cpSync, existsSync, mkdirSync, statfsSync, writeFileSync, type BigIntStats } from 'node:fs'
import { dirname, join } from 'node:path'
import { PEER_FILES } from '../../../core/config/index.js'
import { VtError } from '../../../core/shapes/index.js'
import { readSmallFile } from '../../../core/system/index.js'
import { WORKTREES_FOLDER } from '../../../core/trust/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { listEntries, findRepository, type Repository } from '../git/index.js'
import { openPrivateFolder } from '../state/index.js'
import { readIndexedFiles, reuseIndexedFiles } from './indexed_files.js'
import { toInput, isExcluded, parsePaths, createFileStat } from './names.js'
import {
  queryStore,
  copyIndex,
  dropWorktree,
  listRepositoryFiles,
  writeNote,
  noWorktree,
  resolveTreePaths,
  settleBoth,
  type GitOptions,
  type TreePaths,
  type Worktree,
} from './worktree.js'

export interface NewWorktree {
  id: string
  /** Id of the session that owns the worktree. */
  session: string
  /** Returns whether a file is hidden from tools and so not copied. */
  isHidden?: ((path: string) => boolean) | undefined
  signal?: AbortSignal
}

/** Finds the repository of a workspace. Throws VT_AGENT_NO_WORKTREE. */
export async function requireRepository({ root }: Pick<Workspace, 'root'>): Promise<Repository> {
  const found = await findRepository(root, root)
  if (!found) throw noWorktree('the workspace is in no git repository')
  if ('refused' in found) throw noWorktree(found.refused)
  return found.repository
}

/**
 * Copies the current files of a workspace, tracked and untracked, without ignored ones. Bytes are copied without
 * filters and conversion of line ends. Nothing is written to the repository, and a partial copy is removed. Throws
 * VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function createWorktree(
  workspace: Workspace,
  { id, session, isHidden, signal }: NewWorktree,
): Promise<Worktree> {
  const repository = await requireRepository(workspace)
  const isExcludedPath = (path: string) => isHidden?.(path) === true || workspace.isSecret?.(path) === true
  const places = resolveTreePaths(workspace, id)
  const how = signal ? { signal } : {}
  let files = new Map<string, BigIntStats>()
  try {
    const [present, kept] = await Promise.all([
      listPresentFiles(workspace.root, isExcludedPath, how),
      readIndexedFiles(repository, workspace.root, how),
    ])
    files = present
    await createStore(workspace, id, repository)
    const taken = kept ? await reuseIndexedFiles(workspace, places, kept, files, how) : new Set()
    const rest = [...files.keys()].filter((path) => !taken.has(path))
    // Files over the threshold are written to one pack, without deltas.
    const whole = [
      '-c',
      'core.bigFileThreshold=1',
      '-c',
      'core.compression=1',
      'update-index',
      '--add',
      '--remove',
      '-z',
      '--stdin',
    ]
    if (rest.length > 0 || taken.size === 0)
      await queryStore(workspace, places, whole, { files: workspace.root, input: toInput(rest), ...how })
    copyIndex(join(places.store, 'index'), join(places.store, 'index.now'))
    const objects = taken.size > 0 ? kept?.objects : undefined
    const [{ commit, isPart }] = await settleBoth(
      commitIndex(workspace, places, objects, how),
      queryStore(workspace, places, ['checkout-index', '--all', '--index', '--quiet'], { objects, ...how }),
    )
    writeFileSync(join(places.store, 'HEAD'), `${commit}\n`)
    const own = join(places.root, '.git')
    cpSync(places.store, own, { recursive: true, filter: isPart })
    copyIndex(join(places.store, 'index'), join(own, 'index'))
    const made = { id, root: places.root, store: places.store, commit }
    await writeNote(workspace, made, session)
    return made
  } catch (error) {
    const full = hasTooLittleSpace(places.root, files)
    await dropWorktree(workspace, id).catch(() => {})
    if (error instanceof VtError && error.code === 'VT_CALL_ABORTED') throw error
    if (full) throw noWorktree('there is no space left on the disk')
    throw error instanceof VtError ? toRefusal(error) : noWorktree((error as Error).message)
  }
}

const toRefusal = (error: VtError): VtError =>
  error.code === 'VT_AGENT_NO_WORKTREE' ? error : noWorktree(error.message.replace(/\.$/, ''))

/**
 * Commits the index. If objects of the repository of the workspace are used, all objects are packed, so that none
 * stays shared. `isPart` returns whether a file of the store belongs to the repository of the worktree.
 */
async function commitIndex(
  workspace: Workspace,
  places: TreePaths,
  objects: string | undefined,
  how: GitOptions,
): Promise<{ commit: string; isPart: (path: string) => boolean }> {
  const ask = async (args: string[], more: { objects?: string; input?: Buffer } = {}) =>
    (await queryStore(workspace, places, args, { index: 'index.now', ...more, ...how })).toString().trim()
  const tree = await ask(['write-tree', '--missing-ok'])
  const commit = await ask(['commit-tree', '-m', 'The files of the workspace as they were.', tree])
  if (objects === undefined) return { commit, isPart: (path) => !path.endsWith('/index.now') }
  const whole = [
    '-c',
    'core.compression=1',
    'pack-objects',
    '--revs',
    '--window=0',
    '--delta-base-offset',
    '--threads=1',
    '-q',
    join(places.store, 'objects/pack/pack'),
  ]
  const pack = await ask(whole, { objects, input: Buffer.from(`${commit}\n`) })
  const others = new RegExp(`/(index\\.now|objects/[0-9a-f]{2}|objects/pack/(?!pack-${pack}\\.)[^/]+)$`)
  return { commit, isPart: (path) => !others.test(path) }
}

/** Returns whether the disk has less space than the files need: git does not always report why a write failed. */
function hasTooLittleSpace(place: string, files: ReadonlyMap<string, BigIntStats>): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(place), { bigint: true })
    return bavail * bsize < [...files.values()].reduce((bytes, { size }) => bytes + size, 0n)
  } catch {
    return false
  }
}

/** Lists every file and link of the copy, once. */
async function listPresentFiles(
  root: string,
  isHidden: NewWorktree['isHidden'],
  how: GitOptions,
): Promise<Map<string, BigIntStats>> {
  const [known, others] = await Promise.all([
    listRepositoryFiles(root, ['--cached'], how),
    listRepositoryFiles(root, ['--others', '--exclude-standard'], how),
  ])
  const stands = createFileStat(root)
  // Settings of the workspace are copied even if git ignores them.
  const all = new Set([...parsePaths(known), ...parsePaths(others), ...listSettings(root)])
  const files = new Map<string, BigIntStats>()
  for (const path of all) {
    const isLeftOut = isExcluded(path) || (isHidden?.(path) === true && !PEER_FILES.includes(path))
    const stat = isLeftOut ? undefined : stands(path)
    if (stat) files.set(path, stat)
  }
  return files
}

const MAX_SETTINGS = 20_000
/**
 * Lists the settings files of a workspace, those of other programs whose rules count, and the files in `.vtcode/`,
 * without the state of this program.
 */
function listSettings(root: string): string[] {
  const names = (folder: string, pattern: RegExp): string[] =>
    listEntries(join(root, folder)).flatMap(({ name }) => (pattern.test(name) ? [join(folder, name)] : []))
  const found = [...names('.', /^(?:vtcode\.config\.|\.vtcoderc(?:\.|$))/), ...names('.config', /^vtcoderc(?:\.|$)/)]
  found.push(...PEER_FILES)
  const folders = ['.vtcode']
  for (let next = 0; next < folders.length && found.length < MAX_SETTINGS; next += 1) {
    for (const { name, isFolder } of listEntries(join(root, folders[next]!))) {
      const path = `${folders[next]}/${name}`
      if (!isFolder) found.push(path)
      else if (!isExcluded(path)) folders.push(path)
    }
  }
  return found
}

/** Disables all attributes, so that git reads and writes bytes unchanged. */
export const ATTRIBUTES = '* -text !eol -crlf -ident -filter !diff !merge !working-tree-encoding\n'

/** Creates an empty folder for the files, and the store: a repository that reads no settings but its own. */
async function createStore(workspace: Workspace, id: string, { common, settings }: Repository): Promise<void> {
  const { root, store } = resolveTreePaths(workspace, id)
  if (existsSync(root) || existsSync(store)) throw noWorktree(`${WORKTREES_FOLDER}/${id} already exists`)
  await (await openPrivateFolder(workspace, WORKTREES_FOLDER)).close()
  for (const folder of [root, store, ...['objects', 'refs', 'info'].map((name) => join(store, name))])
    mkdirSync(folder, { mode: 0o700 })
  const format = settings.findLast(({ key }) => key === 'extensions.objectformat')?.value
  const sha256 = format === 'sha256'
  const core = [
    '[core]',
    `\trepositoryformatversion = ${sha256 ? 1 : 0}`,
    '\tfilemode = true',
    '\tbare = false',
    '\tautocrlf = false',
    '\tsymlinks = true',
    '\tlogallrefupdates = false',
    '[gc]',
    '\tauto = 0',
  ]
  writeFileSync(
    join(store, 'config'),
    `${[...core, ...(sha256 ? ['[extensions]', '\tobjectformat = sha256'] : [])].join('\n')}\n`,
  )
  writeFileSync(join(store, 'HEAD'), 'ref: refs/heads/none\n')
  writeFileSync(join(store, 'info/attributes'), ATTRIBUTES)
  writeFileSync(join(store, 'info/exclude'), readExcludes(common, settings))
}

const MAX_EXCLUDES_BYTES = 1024 * 1024
/** Reads the ignore rules of the repository and the user outside of `.gitignore` files. */
function readExcludes(common: string, settings: Repository['settings']): string {
  const excludesFile = settings.findLast(
    ({ key, scope }) => key === 'core.excludesfile' && ['system', 'global'].includes(scope),
  )?.value
  const files = [...(excludesFile?.startsWith('/') ? [excludesFile] : []), join(common, 'info/exclude')]
  return `${files.map((file) => readSmallFile(file, MAX_EXCLUDES_BYTES) ?? '').join('\n')}\n`
}
