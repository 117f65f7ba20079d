import { closeSync, constants, openSync, readSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { askGit } from './ask_git.js'
import { listEntries } from './entries.js'
import { fileState } from './file_state.js'
import type { Repository } from './repository.js'

/** Facts of an index that git may follow when it reads the repository. */
export interface IndexFacts {
  /** Submodule folders, relative to the working tree. */
  submodules: string[]
  /** Reason why the index must not be read without approval. */
  objection?: string
}

const known = new Map<string, { facts: IndexFacts; state: string }>()
const MAX_KNOWN = 500

/** Returns facts of the index as git lists it, cached until the file changes. */
export async function readIndexFacts(
  { path, top }: Pick<Repository, 'path' | 'top'>,
  workspace: string,
): Promise<IndexFacts> {
  const file = join(path, 'index')
  const state = fileState(file)
  if (state === '-') return { submodules: [] }
  // A split index reads another file; later formats are untested.
  if (listEntries(path).some(({ name }) => name.startsWith('sharedindex.')))
    return { submodules: [], objection: 'the index of the repository is split into several files' }
  const before = known.get(file)
  if (before?.state === state) return before.facts
  const facts =
    readIndexFormat(file) > 3
      ? { submodules: [], objection: 'the index of the repository has an unsupported format' }
      : await listIndex(top, workspace)
  if (known.size >= MAX_KNOWN) known.clear()
  if (fileState(file) === state) known.set(file, { facts, state })
  return facts
}

async function listIndex(top: string, workspace: string): Promise<IndexFacts> {
  const submodules: string[] = []
  const answer = await askGit(['ls-files', '--stage', '--sparse', '-z'], top, workspace)
  if ('refused' in answer)
    return { submodules, objection: `git cannot read the index of the repository (${answer.refused})` }
  for (const line of answer.output.split('\0')) {
    const name = line.slice(line.indexOf('\t') + 1)
    if (leavesTree(name))
      return {
        submodules,
        objection: `the index of the repository names '${name.slice(0, 80)}' outside the working tree`,
      }
    if (line.startsWith('040000')) return { submodules, objection: 'the index of the repository leaves out folders' }
    if (line.startsWith('160000')) submodules.push(name)
  }
  return { submodules }
}

/** Git never writes such a name, but follows one from an index of foreign origin. */
const leavesTree = (name: string): boolean =>
  name.startsWith('/') || (name.includes('..') && name.split('/').includes('..'))

/** Entries other than regular files have no valid format. */
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
