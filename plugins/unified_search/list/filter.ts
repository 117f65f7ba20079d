import { problem } from '../../../core/index.js'
import { toBaseName } from '../../lib/base/index.js'
import { compileGlob } from '../../lib/globs/index.js'
import type { ListQuery, Row } from './types.js'

export const resolveType = ({ entry_type, mode }: ListQuery) =>
  entry_type ?? (mode === 'find_content' || mode === 'largest' ? 'file' : 'any')

/** Creates the filter of a call. */
export function createFilter(input: ListQuery): (row: Row) => boolean {
  const tests = createTests(input)
  return (row) => tests.every((test) => test(row))
}

/** Creates the tests that an entry has to pass. Throws VT_INPUT_INVALID for a glob of too many parts. */
export function createTests(input: ListQuery): ((row: Row) => boolean)[] {
  const wanted = resolveType(input)
  const relative =
    input.path === '.'
      ? (path: string) => path
      : (path: string) => path.slice(input.path.length + 1) || toBaseName(path)
  const tests: ((row: Row) => boolean)[] = []
  if (wanted !== 'any') tests.push((row) => row.kind === (wanted === 'dir' ? 'directory' : 'file'))
  if (input.file_extensions?.length) {
    const endings = input.file_extensions.map((extension) => `.${extension.replace(/^\*?\./, '')}`)
    tests.push((row) => row.kind !== 'directory' && endings.some((ending) => row.path.endsWith(ending)))
  }
  if (input.patterns) tests.push(createPathTest(input.patterns, relative, input.case_sensitive))
  const { name_pattern: name, names } = input
  // A pattern with a slash matches paths, not names.
  const toTestedName = name?.includes('/') ? relative : toBaseName
  if (names) tests.push(createPathTest(names, toTestedName, input.case_sensitive))
  else if (name !== undefined) tests.push(createPartTest(name, toTestedName, input.case_sensitive))
  return tests
}

/** Case counts in a pattern with an upper-case letter. */
const isSensitive = (pattern: string, chosen: boolean | undefined): boolean =>
  chosen ?? pattern !== pattern.toLowerCase()

function createPathTest(
  globs: string[],
  toTested: (path: string) => string,
  sensitive: boolean | undefined,
): (row: Row) => boolean {
  const tests = globs.map((glob) => {
    try {
      return compileGlob(glob, isSensitive(glob, sensitive))
    } catch (error) {
      const problemText = `'name_pattern' ${JSON.stringify(glob.slice(0, 80))} ${(error as Error).message}.`
      throw problem('VT_INPUT_INVALID', { problem: problemText })
    }
  })
  return ({ path }) => tests.some((matches) => matches(toTested(path)))
}

function createPartTest(
  part: string,
  toTested: (path: string) => string,
  chosen: boolean | undefined,
): (row: Row) => boolean {
  const sensitive = isSensitive(part, chosen)
  const wanted = (sensitive ? part : part.toLowerCase()).replace(/^(?:\.\/)+/, '')
  return ({ path }) => (sensitive ? toTested(path) : toTested(path).toLowerCase()).includes(wanted)
}
