import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import exceptions from './language.json' with { type: 'json' }
import {
  findBannedWord,
  findFindings,
  findLongSentences,
  isPlainTitle,
  type Kind,
  KINDS,
  titlesOf,
} from './language.js'
import { filesOf, parse, root, sources, textOf } from './sources.js'

// Findings that are allowed, by file and kind. A number may shrink and go; none may grow or be added.
const allowed = exceptions as Record<string, Partial<Record<Kind, number>>>
/** Share of a page's sentences that may have more than 30 words. */
const LONG_SENTENCES = 0.02
/** The first commit whose subject has to follow the form. */
const FIRST_CHECKED = '9d8ecfc8'

const tests = [...filesOf('test', '.test.ts'), ...filesOf('test', '.faults.ts')]
const pages = ['README.md', ...filesOf('docs', '.md').filter((file) => file !== 'docs/errors.md')]
const manifests = [...filesOf('manifests', '.yaml'), ...filesOf('manifests', '.json')]

describe('names, comments, widths and words of sources', () => {
  const counts = new Map(sources.map((file) => [file, countByKind(findFindings(parse(file)))]))

  it('allows no finding beyond the listed exceptions', () => {
    const over = [...counts].flatMap(([file, found]) =>
      KINDS.filter((kind) => (found[kind] ?? 0) > (allowed[file]?.[kind] ?? 0)).map(
        (kind) => `${file}: ${found[kind]} ${kind}`,
      ),
    )
    expect(over).toEqual([])
  })
  it('lists no exception higher than the findings', () => {
    const stale = Object.entries(allowed).flatMap(([file, kinds]) =>
      Object.entries(kinds).filter(([kind, count]) => counts.get(file)?.[kind as Kind] !== count),
    )
    expect(stale).toEqual([])
  })
})

describe('titles of tests', () => {
  it('accepts only titles that begin with a verb in the third person', () => {
    const wrong = tests.flatMap((file) =>
      titlesOf(parse(file)).flatMap((title) => (isPlainTitle(title) ? [] : [`${file}: ${title}`])),
    )
    expect(wrong).toEqual([])
  })
  it('finds no banned word in a title', () => {
    const wrong = tests.flatMap((file) =>
      titlesOf(parse(file)).flatMap((title) => (findBannedWord(title) ? [`${file}: ${title}`] : [])),
    )
    expect(wrong).toEqual([])
  })
})

describe('pages and manifests', () => {
  it.each(pages)('keeps sentences short in %s', (page) => {
    const { count, long } = findLongSentences(textOf(page))
    expect(long.length <= count * LONG_SENTENCES ? [] : long).toEqual([])
  })
  it('finds no banned word in pages, manifests and skills', () => {
    const wrong = [...pages, ...manifests, ...filesOf('skills', '.md')].flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, index) => {
          const isComment = file.endsWith('.yaml') && /^\s*#/.test(line)
          const word = isComment ? undefined : findBannedWord(line.replace(/`[^`]*`/g, ''))
          return word ? [`${file}:${index + 1}: ${word}`] : []
        }),
    )
    expect(wrong).toEqual([])
  })
})

describe('subjects of commits', () => {
  it('accepts only the form `area: imperative` of at most 72 characters', () => {
    // A package or an archive has no history.
    if (!existsSync(join(root, '.git'))) return
    const git = (...words: string[]): string => execFileSync('git', words, { cwd: root, encoding: 'utf8' })
    const isKnown = git('rev-list', '--all', '--abbrev-commit', '--abbrev=8').includes(FIRST_CHECKED)
    const subjects = git('log', '--format=%s', '--no-merges', isKnown ? `${FIRST_CHECKED}..HEAD` : '-1')
      .trim()
      .split('\n')
    expect(subjects.filter((subject) => subject.length > 72 || !/^[a-z][\w./, -]*: [a-z`]/.test(subject))).toEqual([])
  })
})

function countByKind(findings: readonly { kind: Kind }[]): Partial<Record<Kind, number>> {
  const counts: Partial<Record<Kind, number>> = {}
  for (const { kind } of findings) counts[kind] = (counts[kind] ?? 0) + 1
  return counts
}
