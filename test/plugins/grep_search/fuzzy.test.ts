import { bootKernel, type Files } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { asked } from '../../support/asked.js'

const files: Files = {
  'a.ts': 'export function createSourceFile(name) {}\nconst creator = 1\n  createSourceFile\n',
  'b.ts': 'const crazySourFile = createFile\n',
  'c.txt': 'could really suffice, said a man\n',
  'bin.dat': 'createSourceFile\0',
  '.gitignore': 'out/\n',
  'out/x.ts': 'createSourceFile\n',
}
const fuzzy = asked('fuzzy')

describe('grep_search/fuzzy', () => {
  it('finds lines with the characters in order, sorted by score, then by path', async () => {
    await using ws = await bootKernel({ files })
    const { matches, text } = await fuzzy(ws, { pattern: 'sourcefile' })
    expect(matches.map(({ file, line_number, score }: any) => [file, line_number, score])).toEqual([
      ['a.ts', 1, 0.84],
      ['a.ts', 3, 0.84],
    ])
    expect(text).toBe(
      'a.ts:1: export function createSourceFile(name) {} (0.84)\na.ts:3: createSourceFile (0.84)\n2 matches',
    )
  })
  it('scores the span, adjacent characters and starts of words', async () => {
    await using ws = await bootKernel({ files: { 'a.txt': 'abcd\na_b_c_d\nxabcdx\nab__cd\na....b....c....d\n' } })
    const scores = (await fuzzy(ws, { pattern: 'abcd', fuzzy_threshold: 0.1 })).matches.map(
      ({ line_number, score }: any) => [line_number, score],
    )
    // 0.6 · 4/4 + 0.2 · 3/3 + 0.2 · 1/4; inside a word without its start; 0.6 · 4/6 + 0.2 · 2/3 + 0.2 · 2/4; 0.6 · 4/7 + 0.2; 0.6 · 4/16 + 0.2.
    expect(scores).toEqual([
      [1, 0.85],
      [3, 0.8],
      [4, 0.633],
      [2, 0.543],
      [5, 0.35],
    ])
  })
  it('applies the threshold, case sensitivity and the path to a fuzzy search', async () => {
    await using ws = await bootKernel({ files })
    expect((await fuzzy(ws, { pattern: 'crsrcfile' })).matches).toEqual([])
    expect(
      (await fuzzy(ws, { pattern: 'crsrcfile', fuzzy_threshold: 0.5 })).matches.map(({ file }: any) => file),
    ).toEqual(['a.ts', 'a.ts'])
    expect((await fuzzy(ws, { pattern: 'SourceFile', case_sensitive: true })).total_matches).toBe(2)
    expect((await fuzzy(ws, { pattern: 'sourceFile', case_sensitive: true })).total_matches).toBe(0)
    expect((await fuzzy(ws, { pattern: 'sourcefile', path: 'b.ts' })).text).toBe('No matches in b.ts (1 file searched)')
  })
  it('finds a word with two letters exchanged, after lines that match as written', async () => {
    await using ws = await bootKernel({ files: { 'a.ts': 'checkout(cart)\n', 'b.ts': 'const checkuot = 1\n' } })
    const { matches } = await fuzzy(ws, { pattern: 'checkuot' })
    expect(matches.map(({ file, score }: any) => [file, score])).toEqual([
      ['b.ts', 0.825],
      ['a.ts', 0.775],
    ])
    for (const pattern of ['hceckout', 'checkotu', 'chekcout'])
      expect((await fuzzy(ws, { pattern })).matches.map(({ file }: any) => file)).toContain('a.ts')
    expect((await fuzzy(ws, { pattern: 'tuokcehc' })).matches).toEqual([])
  })
  it('pages fuzzy matches without loss in a stable order', async () => {
    await using ws = await bootKernel({
      files: { 'a.txt': Array.from({ length: 50 }, (_, index) => `alpha beta ${index}`).join('\n') },
    })
    const seen: number[] = []
    let input: object | undefined = { pattern: 'alpha', max_results: 20 }
    while (input) {
      const page: any = await fuzzy(ws, input)
      seen.push(...page.matches.map((match: any) => match.line_number))
      input = page.next?.input
    }
    expect(seen).toEqual(Array.from({ length: 50 }, (_, index) => index + 1))
  })
  it('treats pattern characters literally in a fuzzy search', async () => {
    await using ws = await bootKernel({ files: { 'a.txt': 'f(x)[0] \\ 😀é\nother\n' } })
    for (const pattern of ['(x)', '[0]', ' \\', '😀é', '.*']) {
      expect((await fuzzy(ws, { pattern, fuzzy_threshold: 0.5 })).total_matches).toBe(pattern === '.*' ? 0 : 1)
    }
    expect(await ws.call('grep_search', { action: 'fuzzy', pattern: 'x' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_INVALID' },
    })
  })
  it('answers a fuzzy search of one endless line in bounded time', async () => {
    await using ws = await bootKernel({ files: { 'a.txt': 'ab'.repeat(2_000_000) } })
    expect((await fuzzy(ws, { pattern: 'ab'.repeat(32), fuzzy_threshold: 0 })).matches).toHaveLength(1)
  })
})

it('serves grep_search in mode fuzzy and in the mode of another dialect under one name', async () => {
  await using ws = await bootKernel({ files })
  const found = await ws.call('grep_search', { pattern: 'sourcefile', mode: 'fuzzy' })
  expect(found).toMatchObject({
    ok: true,
    output: { matches: [{ path: expect.any(String), line_number: expect.any(Number) }, {}] },
  })
  expect(await ws.call('grep_search', { pattern: 'createFile' })).toMatchObject({
    ok: true,
    output: { matches: [{ path: 'b.ts' }] },
  })
})
