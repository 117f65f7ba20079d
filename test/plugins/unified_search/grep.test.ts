import { execFileSync } from 'node:child_process'
import { chmodSync, mkdirSync, rmSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { rgPath } from '@vscode/ripgrep'
import { bootKernel, type Booted, type Files } from 'vtcode/test'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { rounds } from '../../support/exec.js'

const boot = (files: Files = {}): Promise<Booted> => bootKernel({ files })
const grep = async ({ call }: Booted, input: object) => call('unified_search', { action: 'grep', ...input })
const found = async (booted: Booted, input: object): Promise<any> => {
  const result = await grep(booted, input)
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, notices: (result.notices ?? []).map((notice) => notice.code), text: result.text }
}

describe('unified_search/grep: paging', () => {
  let ws: Booted
  beforeAll(async () => {
    const files: Files = {}
    for (let file = 0; file < 300; file++)
      files[`d${file % 7}/f${file}.txt`] = 'needle one\nhay\nneedle two\nneedle three\n'
    ws = await boot(files)
  })
  afterAll(() => ws[Symbol.asyncDispose]())

  it('returns every match once, in path order, along next to the end', async () => {
    const seen: string[] = []
    let input: object | undefined = { pattern: 'needle', max_results: 97 }
    while (input) {
      const page = await found(ws, input)
      const { total_matches: total, files_with_matches: files, total_is_lower_bound } = page
      expect([total, total_is_lower_bound]).toEqual(page.next ? [seen.length + 98, true] : [900, undefined])
      expect(files).toBe(Math.ceil(total / 3))
      seen.push(...page.matches.map((match: any) => `${match.file.replaceAll('/', '\0')}:${match.line_number}`))
      input = page.next?.input
    }
    expect(seen).toHaveLength(900)
    expect(new Set(seen).size).toBe(900)
    expect(seen).toEqual([...seen].sort())
  })

  it('names the first files with counts when the answer is cut', async () => {
    const page = await found(ws, { pattern: 'needle', max_results: 1, count: 'exact' })
    expect(page.files).toHaveLength(50)
    expect(page.files[0]).toEqual({ file: 'd0/f0.txt', count: 3 })
    expect(page.text).toMatch(/1 of 900 matches in 300 files; continue with skip=1$/)
  })

  it('stops when the answer is full, with the page of an exact count', async () => {
    const input = { pattern: 'needle', max_results: 10, skip: 400 }
    const [page, exact] = [await found(ws, input), await found(ws, { ...input, count: 'exact' })]
    expect(page.matches).toEqual(exact.matches)
    expect(page).toMatchObject({ total_matches: 411, total_is_lower_bound: true, truncated: true })
    expect(page.text).toMatch(/10 of 411\+ matches in 137\+ files \(count=exact counts all\); continue with skip=410$/)
    expect(exact).toMatchObject({ total_matches: 900, files_with_matches: 300, truncated: true })
    expect(exact).not.toHaveProperty('total_is_lower_bound')
  })

  it('counts exactly where the last match fills the answer', async () => {
    expect(await found(ws, { pattern: 'needle', max_results: 900 })).toMatchObject({
      total_matches: 900,
      truncated: false,
      notices: [],
    })
  })

  it('returns the same bytes every time', async () => {
    const [first, second] = await Promise.all([found(ws, { pattern: 'needle' }), found(ws, { pattern: 'needle' })])
    expect(first).toEqual(second)
  })
})

describe('unified_search/grep: patterns', () => {
  let ws: Booted
  beforeAll(async () => {
    ws = await boot({
      'a.txt': 'alpha beta\nalpha\ngamma\n',
      'b.txt': 'alpha\n',
      'c.txt': 'beta\ngamma\n',
      'd.txt': 'start {\n  inner\n}\n',
      'e.txt': 'Foo foo FOO\n',
    })
  })
  afterAll(() => ws[Symbol.asyncDispose]())

  it('finds the matches of all AND patterns in files that hold every one', async () => {
    const { matches } = await found(ws, { patterns: ['alpha', 'gamma'] })
    expect(matches.map(({ file, line_number }: any) => [file, line_number])).toEqual([
      ['a.txt', 1],
      ['a.txt', 2],
      ['a.txt', 3],
    ])
  })
  it('finds lines that match any OR pattern, each once', async () => {
    const { matches } = await found(ws, { patterns: ['alpha', 'beta'], logic: 'or' })
    expect(matches.map(({ file, line_number }: any) => [file, line_number])).toEqual([
      ['a.txt', 1],
      ['a.txt', 2],
      ['b.txt', 1],
      ['c.txt', 1],
    ])
  })
  it('matches across lines when a pattern holds a newline', async () => {
    const { matches } = await found(ws, { pattern: String.raw`start \{\n\s+inner` })
    expect(matches).toMatchObject([{ file: 'd.txt', line_number: 1, end_line_number: 2, text: 'start {\n  inner' }])
  })
  it('matches case when a pattern has an upper-case letter, or as the caller chooses', async () => {
    expect((await found(ws, { pattern: 'foo' })).matches[0].column).toBe(1)
    expect((await found(ws, { pattern: 'FOO' })).matches[0].column).toBe(9)
    expect((await found(ws, { pattern: 'FOO', case_sensitive: false })).matches[0].column).toBe(1)
  })
  it('adds no notice of the first engine for a pattern with lookaround', async () => {
    await using ws = await bootKernel({ files: { 'a.txt': 'needle\n' } })
    const result = await ws.call('unified_search', { action: 'grep', pattern: 'need(?=le)' })
    expect(result).toMatchObject({ ok: true, output: { total_matches: 1 } })
    expect(result).not.toHaveProperty('notices')
  })
  it('supports lookaround and back references', async () => {
    expect((await found(ws, { pattern: String.raw`(?<=Foo )f(o)\1` })).matches).toMatchObject([
      { file: 'e.txt', column: 5 },
    ])
  })
  it('quotes a pattern that the engine refuses with the reason and offers the literal search', async () => {
    const result = await grep(ws, { pattern: 'a(b', path: 'a.txt' })
    expect(result).toMatchObject({
      ok: false,
      error: {
        code: 'VT_SEARCH_PATTERN',
        message: expect.stringContaining('unclosed group'),
        next: { input: { literal: true } },
      },
    })
    const next = (result as any).error.next
    expect(await ws.call(next.tool, next.input)).toMatchObject({ ok: true, output: { matches: [] } })
  })
  it('refuses an empty pattern and suggests read and list', async () => {
    expect(await grep(ws, { pattern: '' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_INVALID', hint: expect.stringMatching(/unified_file.*list/) },
    })
  })
  it('refuses a pattern with a list of patterns', async () => {
    expect(await grep(ws, { pattern: 'a', patterns: ['b', 'c'] })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_CONFLICT' },
    })
  })
  it('answers a pattern of two repetitions at once', async () => {
    await ws.write('evil.txt', `${'a'.repeat(40)}!\n`)
    expect((await found(ws, { pattern: '^a*a*$', path: 'evil.txt' })).matches).toEqual([])
  })
  it('reports the matching limit of the engine as an error of the pattern', async () => {
    const program = join(ws.home, 'rg')
    writeFileSync(program, '#!/bin/sh\necho "rg: a.txt: PCRE2: error matching: match limit exceeded" >&2\nexit 2\n')
    chmodSync(program, 0o755)
    const before = process.env['VTCODE_RIPGREP_BIN']
    process.env['VTCODE_RIPGREP_BIN'] = program
    try {
      await ws.write('a.txt', 'aa\n')
      expect(await grep(ws, { pattern: String.raw`(a)\1`, path: 'a.txt' })).toMatchObject({
        ok: false,
        error: { code: 'VT_SEARCH_PATTERN', message: expect.stringContaining('limit') },
      })
    } finally {
      if (before === undefined) delete process.env['VTCODE_RIPGREP_BIN']
      else process.env['VTCODE_RIPGREP_BIN'] = before
    }
  })
})

describe('unified_search/grep: lines', () => {
  it('shows context lines and joins overlapping ones', async () => {
    await using ws = await boot({ 'a.txt': '1\n2\nhit\n4\nhit\n6\n7\n8\n9\nhit\n' })
    const { matches, text } = await found(ws, { pattern: 'hit', context_lines: 1 })
    expect(matches[1]).toMatchObject({ line_number: 5, before: ['4'], after: ['6'] })
    expect(text).toBe('a.txt\n2-2\n3:hit\n4-4\n5:hit\n6-6\n--\n9-9\n10:hit\n\n3 matches in 1 file')
  })
  it('cuts long lines around the match with a mark', async () => {
    await using ws = await boot({ 'a.txt': `${'é'.repeat(5000)}needle${'x'.repeat(5000)}\n` })
    const { matches } = await found(ws, { pattern: 'needle' })
    expect(matches[0]).toMatchObject({
      column: 5001,
      text_truncated: true,
      text: expect.stringMatching(/^…é+needlex+…$/),
    })
    expect(Array.from(matches[0].text)).toHaveLength(500)
  })
  it.each([
    ['a thousand matches', 'ab'.repeat(1000), '[ab]', 'a', 100],
    ['a match of 100,000 characters', `foo${'x'.repeat(100_000)}`, 'foo.*', `foo${'x'.repeat(100_000)}`, 1],
    ['a match of 5,000,000 characters', `foo${'x'.repeat(5_000_000)}`, 'foo.*', `foo${'x'.repeat(131_069)}`, 1],
    ['more matches than the engine is read for', '{"a":1},'.repeat(300_000), '"', '"', 100],
  ])('finds lines with %s and returns their first submatches', async (_, line, pattern, first, most) => {
    await using ws = await boot({ 'a.txt': `${line}\nlast ${line.slice(0, 8)}\n` })
    for (const path of ['a.txt', '.']) {
      const { matches, total_matches, notices } = await found(ws, { pattern, path, response_format: 'detailed' })
      expect([total_matches, matches.length, notices]).toEqual([2, 2, []])
      expect([
        matches[0].line_number,
        matches[0].submatches.length,
        matches[0].submatches[0].text,
        matches[1].line_number,
      ]).toEqual([1, most, first, 2])
    }
  })
  it('finds long lines by a pattern that spans lines', async () => {
    await using ws = await boot({ 'a.txt': `foo\n${'x'.repeat(100_000)}\n` })
    for (const path of ['a.txt', '.'])
      expect(await found(ws, { pattern: 'foo\\nx+', path })).toMatchObject({
        total_matches: 1,
        matches: [{ line_number: 1, end_line_number: 2 }],
        notices: [],
      })
  })
  it('decodes and marks lines that are not UTF-8', async () => {
    await using ws = await boot({ 'a.txt': Buffer.from('caf\xe9 needle\n', 'latin1') })
    expect((await found(ws, { pattern: 'needle' })).matches).toMatchObject([
      { text: 'caf\ufffd needle', lossy: true, column: 6 },
    ])
  })
  it('finds lines in UTF-16 files and UTF-8 files with a byte order mark', async () => {
    await using ws = await boot({
      'u16.txt': Buffer.from('\ufeffone\nneedle\n', 'utf16le'),
      'u8.txt': '\ufeffneedle\n',
    })
    const { matches } = await found(ws, { pattern: '^needle' })
    expect(matches).toMatchObject([
      { file: 'u16.txt', line_number: 2, text: 'needle' },
      { file: 'u8.txt', line_number: 1, column: 1, text: 'needle' },
    ])
  })
  it('returns offsets and submatches in the detailed form', async () => {
    await using ws = await boot({ 'a.txt': 'x\nab ab\n' })
    const { matches } = await found(ws, { pattern: 'ab', response_format: 'detailed' })
    expect(matches[0]).toMatchObject({
      absolute_offset: 2,
      submatches: [
        { text: 'ab', start: 0, end: 2 },
        { text: 'ab', start: 3, end: 5 },
      ],
    })
    expect((await found(ws, { pattern: 'ab' })).matches[0]).not.toHaveProperty('submatches')
  })
})

describe('unified_search/grep: files', () => {
  it('skips ignored and hidden files, and globs cannot include them', async () => {
    await using ws = await boot({
      '.gitignore': 'out/\n',
      '.vtcodegitignore': '/gen\n',
      'out/a.js': 'x\n',
      'gen/a.js': 'x\n',
      '.h/a.js': 'x\n',
      'src/a.js': 'x\n',
      'src/gen/a.js': 'x\n',
      'node_modules/a.js': 'x\n',
    })
    const files = async (input: object) =>
      (await found(ws, { pattern: 'x', ...input })).matches.map((match: any) => match.file)
    expect(await files({})).toEqual(['src/a.js', 'src/gen/a.js'])
    expect(await files({ globs: '**/*.js' })).toEqual(['src/a.js', 'src/gen/a.js'])
    expect(await files({ globs: ['*.js', '!**/gen/**'] })).toEqual(['src/a.js'])
    expect(await files({ globs: '["*.js", "!**/gen/**"]' })).toEqual(['src/a.js'])
    expect(await files({ include_hidden: true })).toEqual(['.h/a.js', 'src/a.js', 'src/gen/a.js'])
    expect(await files({ path: 'out' })).toEqual(['out/a.js'])
    expect(await files({ path: 'out/a.js' })).toEqual(['out/a.js'])
    expect(await files({ path: 'node_modules' })).toEqual(['node_modules/a.js'])
    expect(await files({ globs: 'node_modules/*.js' })).toEqual(['node_modules/a.js'])
    expect(await files({ file_extensions: ['.ts'] })).toEqual([])
  })
  it('skips .git, .vtcode and node_modules, even when an ignore file keeps them', async () => {
    await using ws = await boot({
      '.gitignore': '!.*\n!node_modules\n',
      '.git/config': 'x\n',
      '.vtcode/a.md': 'x\n',
      'node_modules/a.js': 'x\n',
      '.kept': 'x\n',
      'src/.git/config': 'x\n',
    })
    const files = async (input: object) =>
      (await found(ws, { pattern: '^x', ...input })).matches.map((match: any) => match.file)
    expect(await files({})).toEqual(['.kept'])
    expect(await files({ globs: '!*.ts' })).toEqual(['.kept'])
    expect(await files({ path: '.git' })).toEqual(['.git/config'])
  })
  it('ignores engine configuration files in the workspace', async () => {
    await using ws = await boot({ '.ripgreprc': '--files-without-match\n', 'a.txt': 'needle\n' })
    process.env['RIPGREP_CONFIG_PATH'] = join(ws.root, '.ripgreprc')
    expect((await found(ws, { pattern: 'needle' })).total_matches).toBe(1)
    delete process.env['RIPGREP_CONFIG_PATH']
  })
  it('skips binary files and only counts them when they are named', async () => {
    await using ws = await boot({ 'a.bin': Buffer.from('needle\0\nneedle\n'), 'b.txt': 'needle\n' })
    expect((await found(ws, { pattern: 'needle' })).matches).toMatchObject([{ file: 'b.txt' }])
    const named = await found(ws, { pattern: 'needle', path: 'a.bin' })
    expect(named).toMatchObject({ matches: [], total_matches: 2, notices: ['VT_FILE_BINARY'] })
  })
  it('finds files with names that are not UTF-8 and accepts these names', async () => {
    await using ws = await boot()
    writeFileSync(Buffer.concat([Buffer.from(`${ws.root}/bad`), Buffer.from([0xff]), Buffer.from('.txt')]), 'needle\n')
    expect((await found(ws, { pattern: 'needle' })).matches).toMatchObject([{ file: 'bad\\xff.txt' }])
    expect((await found(ws, { pattern: 'needle', path: 'bad\\xff.txt' })).matches).toMatchObject([
      { file: 'bad\\xff.txt' },
    ])
  })
  it('skips files over 256 MiB with a notice and searches them when they are named', async () => {
    await using ws = await boot({ 'a.txt': 'needle\n', 'big.txt': 'needle' })
    execFileSync(
      'sh',
      ['-c', `yes 'hay hay hay hay hay hay hay hay hay hay hay hay hay hay hay' | head -c 268435456 >> big.txt`],
      { cwd: ws.root },
    )
    const all = await found(ws, { pattern: 'needle' })
    expect(all).toMatchObject({ total_matches: 1, notices: ['VT_SEARCH_SKIPPED'] })
    const start = performance.now()
    expect((await found(ws, { pattern: 'needle', path: 'big.txt' })).matches).toMatchObject([
      { line_number: 1, column: 1 },
    ])
    expect(performance.now() - start).toBeLessThan(25000)
  })
  it('answers for one enormous named line within time and memory', async () => {
    await using ws = await boot()
    const path = join(ws.root, 'line.txt')
    // Larger than the allowed memory and than the largest file of a walk.
    const before = rounds(335_544_320, 1_073_741_824)
    execFileSync('sh', ['-c', `head -c ${before} /dev/zero | tr '\\0' a > line.txt; printf needle >> line.txt`], {
      cwd: ws.root,
    })
    const bare = performance.now()
    execFileSync(rgPath, ['--count', 'needle', path])
    const engine = performance.now() - bare
    const [start, resident] = [performance.now(), process.memoryUsage.rss()]
    const result = await grep(ws, { pattern: 'needle', path: 'line.txt' })
    expect(result).toMatchObject({
      ok: true,
      output: {
        matches: [
          { line_number: 1, column: before + 1, text_truncated: true, text: expect.stringMatching(/^…a+needle/) },
        ],
      },
    })
    const regex = await grep(ws, { pattern: 'ne+dle', path: 'line.txt', response_format: 'detailed' })
    expect(regex).toMatchObject({
      ok: true,
      output: {
        matches: [
          { line_number: 1, column: before + 1, submatches: [{ text: 'needle', start: before, end: before + 6 }] },
        ],
      },
    })
    // Against the engine’s own second, so that it holds on a busy machine too.
    expect(performance.now() - start).toBeLessThan(60 * engine)
    expect(process.memoryUsage.rss() - resident).toBeLessThan(200 * 1024 * 1024)
    truncateSync(path)
  })
  it('skips links that lead out, loops, pipes and unreadable files without a hang', async () => {
    await using ws = await boot({ 'a/b.txt': 'needle\n' })
    symlinkSync('..', join(ws.root, 'a/up'))
    symlinkSync('/', join(ws.root, 'a/root'))
    writeFileSync(join(ws.home, 'secret'), 'needle\n')
    symlinkSync(join(ws.home, 'secret'), join(ws.root, 'a/secret'))
    execFileSync('mkfifo', [join(ws.root, 'a/pipe')])
    expect((await found(ws, { pattern: 'needle' })).matches).toMatchObject([{ file: 'a/b.txt' }])
    expect(await grep(ws, { pattern: 'needle', path: 'a/secret' })).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_OUTSIDE' },
    })
    expect(await grep(ws, { pattern: 'needle', path: 'a/root/etc' })).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_OUTSIDE' },
    })
    expect(await grep(ws, { pattern: 'needle', path: 'a/pipe' })).toMatchObject({
      ok: false,
      error: { code: 'VT_PATH_SPECIAL' },
    })
  })
  it('survives files that appear and disappear during the search', async () => {
    await using ws = await boot({ 'stay.txt': 'needle\n' })
    mkdirSync(join(ws.root, 'churn'))
    let on = true
    const churn = (async () => {
      for (let round = 0; on; round++) {
        await ws.write(`churn/f${round % 50}.txt`, 'needle\n')
        if (round % 3 === 0) rmSync(join(ws.root, `churn/f${(round + 25) % 50}.txt`), { force: true })
      }
    })()
    for (let round = 0; round < 20; round++) {
      const { matches } = await found(ws, { pattern: 'needle' })
      expect(matches.at(-1)).toMatchObject({ file: 'stay.txt' })
    }
    on = false
    await churn
  })
  it('counts matches in great number exactly', async () => {
    await using ws = await boot({ 'many.txt': 'x\n'.repeat(300_000) })
    const result = await found(ws, { pattern: 'x', max_results: 1, count: 'exact' })
    expect(result).toMatchObject({ total_matches: 300_000, truncated: true })
  })
})

it('stops at matches of text, past binary files, pipes and links that lead out', async () => {
  await using outside = await boot({ 'secret.txt': 'needle outside\n'.repeat(50) })
  const lines = 'needle\n'.repeat(20)
  await using ws = await boot({ 'a.dat': `\0${lines}`, 'c/one.txt': lines, 'c/two.txt': lines })
  execFileSync('mkfifo', [join(ws.root, 'b.txt')])
  symlinkSync(join(outside.root, 'secret.txt'), join(ws.root, 'a.txt'))
  symlinkSync(outside.root, join(ws.root, 'b'))
  const page = await found(ws, { pattern: 'needle', max_results: 25 })
  const files = page.matches.map(({ file }: any) => file)
  expect([files.length, new Set(files)]).toEqual([25, new Set(['c/one.txt', 'c/two.txt'])])
  // The binary file filled the first run, so the whole was counted.
  expect(page).toMatchObject({ total_matches: 40, notices: ['VT_FILE_BINARY'] })
  expect(await found(ws, { pattern: 'needle', max_results: 10 })).toMatchObject({
    matches: { length: 10 },
    truncated: true,
  })
})

it('shows the first matches of files that change during the search', async () => {
  await using ws = await boot(
    Object.fromEntries(Array.from({ length: 40 }, (_, at) => [`f${at}.txt`, 'needle\n'.repeat(10)])),
  )
  let isActive = true
  const change = (async () => {
    for (let round = 0; isActive; round++)
      await ws.write(`f${round % 40}.txt`, round % 2 === 0 ? 'hay\n' : 'needle\n'.repeat(10))
  })()
  for (let round = 0; round < rounds(5, 200); round++) {
    const { matches, total_matches } = await found(ws, { pattern: 'needle', max_results: 20 })
    expect(matches.every(({ text }: any) => text === 'needle')).toBe(true)
    expect(total_matches).toBeLessThanOrEqual(400)
  }
  isActive = false
  await change
})

it('refuses globs that are too broad', async () => {
  await using ws = await boot({ 'a.txt': 'x\n' })
  expect(await grep(ws, { pattern: 'x', globs: '{a,b}'.repeat(40) })).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_INVALID' },
  })
  expect(await grep(ws, { pattern: 'x', globs: '[' })).toMatchObject({ ok: false, error: { code: 'VT_INPUT_INVALID' } })
})

it('stops the engine soon after an abort', async () => {
  await using ws = await boot()
  execFileSync(
    'sh',
    ['-c', `head -c 2000000 /dev/urandom | base64 > part; for i in $(seq 100); do cat part; done > big.txt; rm part`],
    { cwd: ws.root },
  )
  const controller = new AbortController()
  setTimeout(() => controller.abort(), 30)
  const start = performance.now()
  const result = await ws.kernel.call(
    'unified_search',
    { action: 'grep', pattern: '([a-z]+[0-9]+)+zz.*q{3}', path: 'big.txt' },
    { signal: controller.signal },
  )
  expect(result).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED' } })
  expect(performance.now() - start).toBeLessThan(15_000)
})

describe('unified_search/grep: unchanged folder', () => {
  it('returns the lines that ripgrep printed, equal to those in the files', async () => {
    const long = 'x'.repeat(600)
    const bytes = (...parts: (string | number[])[]) => Buffer.concat(parts.map((part) => Buffer.from(part as string)))
    await using ws = await boot()
    mkdirSync(join(ws.root, 'd/e'), { recursive: true })
    const files: Record<string, Buffer> = {
      'plain.txt': bytes('a needle\n\tneedle needle\nno\nlast needle'),
      'crlf.txt': bytes('one needle\r\nneedle\r\n'),
      'd/mark.txt': bytes([0xef, 0xbb, 0xbf], 'needle of a mark\n'),
      'd/wide.txt': Buffer.concat([Buffer.from([0xff, 0xfe]), Buffer.from('größe needle 😀 needle\n', 'utf16le')]),
      'd/latin.txt': bytes([0xfc, 0x62], ' needle\n', 'a needle\n'),
      'd/e/letters.txt': bytes('😀é\u202e needle\u0007 "\\" \u2028 needle\n'),
      'd/e/long.txt': bytes(`${long}needle${long}\n`, 'short needle\n'),
      'd/e/many.txt': bytes(`${'needle '.repeat(150)}\n`),
      'd/e/events.txt': bytes(
        'needle"},"start":0,"end":6}]}}\n',
        '"},"line_number":1,"submatches":[{"match":{"text":"needle\\\n',
        'needle\t\u0001needle"\n',
      ),
      'd/e/nul.txt': bytes('needle\n', [0], '\n'),
    }
    for (const [name, text] of Object.entries(files)) writeFileSync(join(ws.root, name), text)
    for (const input of [
      { pattern: 'needle' },
      { pattern: 'needle', max_results: 3, skip: 2 },
      { pattern: 'n(e)\\1dle|größe' },
      { pattern: 'needle["\\\\\\t]+' },
      { pattern: '"?\\}?,"?(start|submatches).*' },
      { pattern: 'NEEDLE', case_sensitive: false, context_lines: 1 },
    ]) {
      // Files of a recently changed folder are opened again.
      for (const folder of ['', 'd', 'd/e']) {
        rmSync(join(ws.root, folder, 'new'), { force: true })
        writeFileSync(join(ws.root, folder, 'new'), '')
      }
      const { text, ...opened } = await found(ws, input)
      await new Promise((done) => setTimeout(done, 150))
      expect(await found(ws, input)).toEqual({ ...opened, text })
    }
  })
})

it('searches for a query that is given without an action, and not for a glob', async () => {
  await using booted = await bootKernel({ files: { 'a.txt': 'one needle\n', 'b.txt': 'hay\n' } })
  for (const input of [{ query: 'needle' }, { query: 'needle', path: '.' }])
    expect(await booted.call('unified_search', input)).toMatchObject({
      ok: true,
      output: { total_matches: 1, matches: [{ file: 'a.txt' }] },
    })
  expect(await booted.call('unified_search', { query: '**/*.txt' })).toMatchObject({
    error: { code: 'VT_ACTION_MISSING' },
  })
})
