import { cpSync, existsSync, mkdirSync, statfsSync, writeFileSync, type BigIntStats } from 'node:fs'
import { dirname, join } from 'node:path'
import { VtError } from '../../../core/shapes/index.js'
import { worktreesFolder } from '../../../core/trust/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { listEntries, findRepository, readSmallFile, type Repository } from '../git/index.js'
import { ownFolder } from '../state/index.js'
import { keptBy, takeKept } from './kept.js'
import { asInput, isLeftOut, pathsIn, standsBelow } from './names.js'
import {
  askStore,
  copyIndex,
  dropWorktree,
  listFiles,
  noteTree,
  noWorktree,
  placesOfTree,
  together,
  type How,
  type TreePlaces,
  type Worktree,
} from './place.js'

export interface NewWorktree {
  id: string
  /** Whose work it is a part of. */
  session: string
  /** Files that are kept from tools: they are not copied. */
  isHidden?: ((path: string) => boolean) | undefined
  signal?: AbortSignal
}

/** The repository that the files of a workspace belong to. Throws VT_AGENT_NO_WORKTREE. */
export async function repositoryFor({ root }: Pick<Workspace, 'root'>): Promise<Repository> {
  const found = await findRepository(root, root)
  if (!found) throw noWorktree('the workspace is in no git repository')
  if ('refused' in found) throw noWorktree(found.refused)
  return found.repository
}

/**
 * Copies the files of a workspace as they are now: what git knows and what it does not know yet, without what it ignores. The bytes are
 * those of the files, whatever filters and line ends the repository names. Nothing is written to that repository, and what fails half-way
 * is removed. Throws VT_AGENT_NO_WORKTREE, VT_CALL_ABORTED.
 */
export async function makeWorktree(
  workspace: Workspace,
  { id, session, isHidden, signal }: NewWorktree,
): Promise<Worktree> {
  const repository = await repositoryFor(workspace)
  const isKept = (path: string) => isHidden?.(path) === true || workspace.isSecret?.(path) === true
  const places = placesOfTree(workspace, id)
  const how = signal ? { signal } : {}
  let files = new Map<string, BigIntStats>()
  try {
    const [present, kept] = await Promise.all([
      presentFiles(workspace.root, isKept, how),
      keptBy(repository, workspace.root, how),
    ])
    files = present
    await layOut(workspace, id, repository)
    const taken = kept ? await takeKept(workspace, places, kept, files, how) : new Set()
    const rest = [...files.keys()].filter((path) => !taken.has(path))
    // Each as it is: files beyond the threshold are written to one pack, unchanged and at once.
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
      await askStore(workspace, places, whole, { files: workspace.root, input: asInput(rest), ...how })
    copyIndex(join(places.store, 'index'), join(places.store, 'index.now'))
    const objects = taken.size > 0 ? kept?.objects : undefined
    const [{ commit, isPart }] = await together(
      committed(workspace, places, objects, how),
      askStore(workspace, places, ['checkout-index', '--all', '--index', '--quiet'], { objects, ...how }),
    )
    writeFileSync(join(places.store, 'HEAD'), `${commit}\n`)
    const own = join(places.root, '.git')
    cpSync(places.store, own, { recursive: true, filter: isPart })
    copyIndex(join(places.store, 'index'), join(own, 'index'))
    const made = { id, root: places.root, store: places.store, commit }
    await noteTree(workspace, made, session)
    return made
  } catch (error) {
    const full = lacksRoom(places.root, files)
    await dropWorktree(workspace, id).catch(() => {})
    if (error instanceof VtError && error.code === 'VT_CALL_ABORTED') throw error
    if (full) throw noWorktree('there is no space left on the disk')
    throw error instanceof VtError ? asRefusal(error) : noWorktree((error as Error).message)
  }
}

const asRefusal = (error: VtError): VtError =>
  error.code === 'VT_AGENT_NO_WORKTREE' ? error : noWorktree(error.message.replace(/\.$/, ''))

/**
 * Notes what is in the index as a commit. With what the repository of the workspace lends all of it is packed, so that nothing stays
 * borrowed. Tells which files beside the worktree then belong to a repository of its own.
 */
async function committed(
  workspace: Workspace,
  places: TreePlaces,
  objects: string | undefined,
  how: How,
): Promise<{ commit: string; isPart: (path: string) => boolean }> {
  const ask = async (args: string[], more: { objects?: string; input?: Buffer } = {}) =>
    (await askStore(workspace, places, args, { index: 'index.now', ...more, ...how })).toString().trim()
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

/** Whether there is less room than the files take: git does not say of every file why it could not be written. */
function lacksRoom(place: string, files: ReadonlyMap<string, BigIntStats>): boolean {
  try {
    const { bavail, bsize } = statfsSync(dirname(place), { bigint: true })
    return bavail * bsize < [...files.values()].reduce((bytes, { size }) => bytes + size, 0n)
  } catch {
    return false
  }
}

/** Every file and link that belongs to the copy, once. */
async function presentFiles(
  root: string,
  isHidden: NewWorktree['isHidden'],
  how: How,
): Promise<Map<string, BigIntStats>> {
  const [known, others] = await Promise.all([
    listFiles(root, ['--cached'], how),
    listFiles(root, ['--others', '--exclude-standard'], how),
  ])
  const stands = standsBelow(root)
  // What is set for this workspace holds in the copy, also where git ignores it.
  const all = new Set([...pathsIn(known), ...pathsIn(others), ...settingsBelow(root)])
  const files = new Map<string, BigIntStats>()
  for (const path of all) {
    const stat = isLeftOut(path) || isHidden?.(path) === true ? undefined : stands(path)
    if (stat) files.set(path, stat)
  }
  return files
}

const mostSettings = 20_000
/** The settings files of a workspace, and what lies in its `.vtcode/` but for what this program keeps there. */
function settingsBelow(root: string): string[] {
  const found = listEntries(root).flatMap(({ name }) => (name.startsWith('vtcode.config.') ? [name] : []))
  const folders = ['.vtcode']
  for (let next = 0; next < folders.length && found.length < mostSettings; next += 1) {
    for (const { name, isFolder } of listEntries(join(root, folders[next]!))) {
      const path = `${folders[next]}/${name}`
      if (!isFolder) found.push(path)
      else if (!isLeftOut(path)) folders.push(path)
    }
  }
  return found
}

/** No attribute of the files counts: what is read and written is what is there. */
const attributes = '* -text !eol -crlf -ident -filter !diff !merge !working-tree-encoding\n'

/** An empty folder for the files and a repository beside it that reads no settings but its own. */
async function layOut(workspace: Workspace, id: string, { common, settings }: Repository): Promise<void> {
  const { root, store } = placesOfTree(workspace, id)
  if (existsSync(root) || existsSync(store)) throw noWorktree(`${worktreesFolder}/${id} is there already`)
  await (await ownFolder(workspace, worktreesFolder)).close()
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
  writeFileSync(join(store, 'info/attributes'), attributes)
  writeFileSync(join(store, 'info/exclude'), excludesOf(common, settings))
}

const mostExcludes = 1024 * 1024
/** What the repository and the user leave out beside the files `.gitignore`; our own state in the copy is none of its files. */
function excludesOf(common: string, settings: Repository['settings']): string {
  const named = settings.findLast(
    ({ key, scope }) => key === 'core.excludesfile' && ['system', 'global'].includes(scope),
  )?.value
  const files = [...(named?.startsWith('/') ? [named] : []), join(common, 'info/exclude')]
  return `${files.map((file) => readSmallFile(file, mostExcludes) ?? '').join('\n')}\n`
}
