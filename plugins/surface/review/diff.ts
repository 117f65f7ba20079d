import { isInside } from '../../../core/system/index.js'
import { askGit, disableFilters, findOutsideReference, findMisplacement, findRepository } from '../../lib/git/index.js'

/** Change to review: a commit, staged changes, or files against a commit. */
export interface DiffFlags {
  base?: string
  staged?: true
  commit?: string
}
export interface ChangedFile {
  /** Current path, relative to the workspace. */
  path: string
  patch: string
  /** Counts lines after the change; of a deleted file, before it. */
  lines(): Promise<number>
}
/** A diff, or the reason from git why there is none. */
export type DiffResult = { files: ChangedFile[]; untracked: number } | { refused: string }

/** Reads a diff by git, without programs of the repository. Reads only `folder`. */
export async function readDiff(folder: string, flags: DiffFlags): Promise<DiffResult> {
  const found = await findRepository(folder, folder)
  if (found && 'refused' in found) return found
  const repository = found?.repository
  const why = repository && findForeignFiles(folder, repository)
  if (why !== undefined) return { refused: `git would show files outside the workspace: ${why}` }
  const id = await resolveCommit(folder, flags.commit ?? flags.base)
  if (typeof id === 'object') return id
  const { what, at } = buildDiffArguments(flags, id)
  const how = [
    '--no-ext-diff',
    '--no-textconv',
    '--no-color',
    '--relative',
    '--find-renames',
    '--ignore-submodules=dirty',
    '--submodule=short',
    '--src-prefix=a/',
    '--dst-prefix=b/',
  ]
  const quiet = { 'core.quotePath': 'false', ...disableFilters(repository?.settings ?? []) }
  const ask = (...form: string[]) => askGit([what[0]!, ...how, ...form, ...what.slice(1)], folder, folder, quiet)
  const [patch, counts, others] = await Promise.all([
    ask('--patch', '--unified=5'),
    ask('--numstat', '-z'),
    askGit(['ls-files', '--others', '--exclude-standard', '-z'], folder, folder),
  ])
  if ('refused' in patch) return { refused: explainRefusal(patch.refused) }
  if ('refused' in counts) return counts
  const paths = parseNumstat(counts.output)
  if (paths.some((path) => path.startsWith('/') || path.split('/').includes('..')))
    return { refused: 'the index of the repository names a file outside it' }
  const countPathLines = (path: string) => countObjectLines(folder, at === undefined ? undefined : `${at}${path}`)
  const untracked = at === undefined && 'output' in others ? others.output.split('\0').length - 1 : 0
  return { files: splitPatch(patch.output, paths, countPathLines), untracked }
}

async function countObjectLines(folder: string, object: string | undefined): Promise<number> {
  const blob = object === undefined ? undefined : await askGit(['cat-file', 'blob', object], folder, folder)
  return blob === undefined || 'refused' in blob ? Number.NaN : countTextLines(blob.output)
}

const explainRefusal = (refused: string): string =>
  refused.includes("ambiguous argument 'HEAD'") ? 'there is no commit yet; --staged reviews staged changes' : refused

function findForeignFiles(folder: string, repository: Repository): string | undefined {
  const bounds = isInside(folder, repository.top) ? folder : repository.top
  return findMisplacement(repository, bounds) ?? findOutsideReference(repository, bounds)
}

type Repository = Parameters<typeof findMisplacement>[0]

/** Resolves a commit to its full id; empty without a name. */
async function resolveCommit(folder: string, named: string | undefined): Promise<string | { refused: string }> {
  if (named === undefined) return ''
  const whole = await askGit(['rev-parse', '--verify', '--end-of-options', `${named}^{commit}`], folder, folder)
  if ('output' in whole) return whole.output.trim()
  return whole.refused.startsWith('fatal: Needed')
    ? { refused: `'${named}' is not a commit of this repository` }
    : whole
}

/** Builds the arguments for git, and the prefix of objects after the change; no prefix: files on disk. */
function buildDiffArguments({ base, staged, commit }: DiffFlags, id: string): { what: string[]; at?: string } {
  if (commit !== undefined) return { what: ['show', '--format=', '-m', '--first-parent', id], at: `${id}:./` }
  if (staged) return { what: ['diff', '--cached'], at: ':./' }
  return { what: ['diff', ...(base === undefined ? ['HEAD'] : ['--merge-base', id])] }
}

/** Splits a patch by file; patch and paths have one order. */
function splitPatch(
  patch: string,
  paths: readonly string[],
  countPathLines: (path: string) => Promise<number>,
): ChangedFile[] {
  const parts = patch.split(/^(?=diff --git )/m).filter((part) => part.startsWith('diff --git '))
  if (parts.length !== paths.length)
    throw new Error(`git shows ${parts.length} changed files and counts ${paths.length}.`)
  return parts.map((part, index) => {
    const path = paths[index]!
    const gone = /^deleted file mode/m.test(part.slice(0, part.indexOf('\n@@')))
    return {
      path,
      patch: part,
      lines: () =>
        gone ? Promise.resolve(Number(/^@@ -\d+(?:,(\d+))? /m.exec(part)?.[1] ?? 1)) : countPathLines(path),
    }
  })
}

/** Parses the paths of `--numstat -z`; of a renamed file, the new name. */
export function parseNumstat(counts: string): string[] {
  const paths: string[] = []
  const fields = counts.split('\0')
  for (let at = 0; at < fields.length - 1; at++) {
    const path = fields[at]!.replace(/^[^\t]*\t[^\t]*\t/, '').replace(/^\n+/, '')
    if (path === '') paths.push(fields[(at += 2)]!)
    else paths.push(path)
  }
  return paths
}

/** Counts lines of a text, with or without a final newline. */
export const countTextLines = (text: string): number =>
  text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
