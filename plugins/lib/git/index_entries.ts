import { closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { askGit } from './ask.js'
import { listEntries } from './entries.js'
import { fileState } from './file_state.js'
import type { Repository } from './repository.js'

/** What the index of a repository says that a look at it may have to follow. */
export interface IndexFacts {
  /** Folders of other repositories inside this one, relative to its working tree. */
  submodules: string[]
  /** Why the index is not one to be looked at unasked. */
  odd?: string
}

const known = new Map<string, { facts: IndexFacts; state: string }>()
const MAX_KNOWN = 500

/** The index as git lists it, kept for as long as its file stays the same. */
export async function readIndexFacts(
  { path, top }: Pick<Repository, 'path' | 'top'>,
  workspace: string,
): Promise<IndexFacts> {
  const file = join(path, 'index')
  const state = fileState(file)
  if (state === '-') return { submodules: [] }
  // A split index takes its entries from a further file, and a later format is one that was not tried.
  if (listEntries(path).some(({ name }) => name.startsWith('sharedindex.')))
    return { submodules: [], odd: 'the index of the repository is in several files' }
  const before = known.get(file)
  if (before?.state === state) return before.facts
  const facts =
    readIndexFormat(file) > 3
      ? { submodules: [], odd: 'the index of the repository has a format of its own' }
      : await listIndex(top, workspace)
  if (known.size >= MAX_KNOWN) known.clear()
  if (fileState(file) === state) known.set(file, { facts, state })
  return facts
}

async function listIndex(top: string, workspace: string): Promise<IndexFacts> {
  const submodules: string[] = []
  const answer = await askGit(['ls-files', '--stage', '--sparse', '-z'], top, workspace)
  if ('refused' in answer) return { submodules, odd: `git cannot read the index of the repository (${answer.refused})` }
  for (const line of answer.output.split('\0')) {
    const name = line.slice(line.indexOf('\t') + 1)
    if (leavesTree(name))
      return { submodules, odd: `the index of the repository names '${name.slice(0, 80)}', which is not in it` }
    if (line.startsWith('040000')) return { submodules, odd: 'the index of the repository leaves out folders' }
    if (line.startsWith('160000')) submodules.push(name)
  }
  return { submodules }
}

/** Git follows such a name from an index of somebody else's making; it writes none itself. */
const leavesTree = (name: string): boolean =>
  name.startsWith('/') || (name.includes('..') && name.split('/').includes('..'))

/** What is no plain file has the format of none. */
function readIndexFormat(file: string): number {
  if (!statSync(file).isFile()) return Infinity
  const bytes = Buffer.alloc(8)
  const fd = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK)
  try {
    return readSync(fd, bytes, 0, 8, 0) < 8 ? 0 : bytes.readUInt32BE(4)
  } finally {
    closeSync(fd)
  }
}
