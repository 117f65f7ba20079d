import { inside } from '../../../core/system/index.js'
import { askGit, disableFilters, findOutsideReference, findMisplacement, findRepository } from '../../lib/git/index.js'

/** What is reviewed: a commit, what is staged, or the files against a commit. */
export interface DiffFlags {
  base?: string
  staged?: true
  commit?: string
}
export interface ChangedFile {
  /** Relative to the workspace, as it is called now. */
  path: string
  patch: string
  /** Lines that the file has after the change; of a file that is gone, before it. */
  lines(): Promise<number>
}
/** A diff, or why there is none, in git's words. */
export type DiffResult = { files: ChangedFile[]; untracked: number } | { refused: string }

/** Reads a diff by git, which runs no program of the repository. Only `folder` is read. */
export async function readDiff(folder: string, flags: DiffFlags): Promise<DiffResult> {
  const found = await findRepository(folder, folder)
  if (found && 'refused' in found) return found
  const repository = found?.repository
  const why = repository && findForeignFiles(folder, repository)
  if (why !== undefined) return { refused: `git would tell of files of others: ${why}` }
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
    return { refused: 'the index of the repository names a file that is not in it' }
  const countPathLines = (path: string) => countObjectLines(folder, at === undefined ? undefined : `${at}${path}`)
  const untracked = at === undefined && 'output' in others ? others.output.split('\0').length - 1 : 0
  return { files: splitPatch(patch.output, paths, countPathLines), untracked }
}

async function countObjectLines(folder: string, object: string | undefined): Promise<number> {
  const blob = object === undefined ? undefined : await askGit(['cat-file', 'blob', object], folder, folder)
  return blob === undefined || 'refused' in blob ? Number.NaN : countTextLines(blob.output)
}

const explainRefusal = (refused: string): string =>
  refused.includes("ambiguous argument 'HEAD'") ? 'there is no commit yet; --staged takes what is staged' : refused

function findForeignFiles(folder: string, repository: Repository): string | undefined {
  const bounds = inside(folder, repository.top) ? folder : repository.top
  return findMisplacement(repository, bounds) ?? findOutsideReference(repository, bounds)
}

type Repository = Parameters<typeof findMisplacement>[0]

/** The full id of a commit that was named, empty where none was. */
async function resolveCommit(folder: string, named: string | undefined): Promise<string | { refused: string }> {
  if (named === undefined) return ''
  const whole = await askGit(['rev-parse', '--verify', '--end-of-options', `${named}^{commit}`], folder, folder)
  if ('output' in whole) return whole.output.trim()
  return whole.refused.startsWith('fatal: Needed') ? { refused: `'${named}' is no commit here` } : whole
}

/** The words for git, and where it finds the files after the change, `undefined` for those on disk. */
function buildDiffArguments({ base, staged, commit }: DiffFlags, id: string): { what: string[]; at?: string } {
  if (commit !== undefined) return { what: ['show', '--format=', '-m', '--first-parent', id], at: `${id}:./` }
  if (staged) return { what: ['diff', '--cached'], at: ':./' }
  return { what: ['diff', ...(base === undefined ? ['HEAD'] : ['--merge-base', id])] }
}

/** The parts of a patch under their paths: both come in one order. */
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

/** What `--numstat -z` names: of a renamed file both names, the later one counts. */
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

/** Lines of a text, with or without a newline at its end. */
export const countTextLines = (text: string): number =>
  text === '' ? 0 : text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
