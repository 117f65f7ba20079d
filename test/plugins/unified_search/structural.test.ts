import { chmodSync, readdirSync, readFileSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { bootKernel, tempWorkspace, type Booted, type Files } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'

const structural = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'structural', ...input })
  if (!result.ok) throw new Error(JSON.stringify(result.error))
  return { ...result.output, notices: (result.notices ?? []).map((notice) => notice.code), text: result.text }
}
const refused = async ({ call }: Booted, input: object): Promise<any> => {
  const result = await call('unified_search', { action: 'structural', ...input })
  if (result.ok) throw new Error(JSON.stringify(result.output))
  return result.error
}
const project: Files = {
  'src/app.ts': "const é = '😀'; log(é)\nfunction f(a: number) {\n  log(a, 1)\n}\n",
  'src/lib.py': 'def top(a):\n    log(a)\n',
  'src/view.tsx': 'export const V = () => <p onClick={() => log(1)}>x</p>\n',
  'data.json': '{"log": 1}',
  '.hidden.ts': 'log(0)\n',
}

afterEach(() => {
  delete process.env['VTCODE_AST_GREP_BIN']
  delete process.env['AST_GREP_TRUST_DIR']
})

describe('unified_search/structural: query', () => {
  it('finds code in every language of a directory, sorted, with positions in bytes and code points', async () => {
    await using ws = await bootKernel({ files: project })
    const { matches, files_searched } = await structural(ws, { pattern: 'log($$$A)' })
    expect(matches.map((match: any) => [match.file, match.line_number, match.text])).toEqual([
      ['src/app.ts', 1, 'log(é)'],
      ['src/app.ts', 3, 'log(a, 1)'],
      ['src/lib.py', 2, 'log(a)'],
      ['src/view.tsx', 1, 'log(1)'],
    ])
    expect(files_searched).toBe(3)
    expect(matches[0].range).toEqual({
      byteOffset: { start: 19, end: 26 },
      start: { line: 0, column: 15 },
      end: { line: 0, column: 21 },
    })
  })
  it('shows captures in the text and their ranges in the detailed form', async () => {
    await using ws = await bootKernel({ files: project })
    const input = { pattern: 'log($$$ALL)', lang: 'ts' }
    expect((await structural(ws, input)).text).toBe(
      'src/app.ts\n1:log(é)\n  $ALL = é\n3:log(a, 1)\n  $ALL = a , 1\n\n2 matches in 1 file',
    )
    const { matches } = await structural(ws, { pattern: 'log($A, $B)', response_format: 'detailed' })
    expect(matches[0].metaVariables.single.A).toMatchObject({ text: 'a', range: { start: { line: 2, column: 6 } } })
    expect(matches[0].charCount).toEqual({ leading: 2, trailing: 0 })
    expect((await structural(ws, input)).matches[0]).not.toHaveProperty('metaVariables')
  })
  it('accepts kinds, kinds with patterns, selectors and strictness', async () => {
    await using ws = await bootKernel({ files: project })
    const texts = async (input: object) =>
      (await structural(ws, { lang: 'ts', path: 'src/app.ts', ...input })).matches.map((match: any) => match.text)
    expect(await texts({ kind: 'formal_parameters' })).toEqual(['(a: number)'])
    expect(await texts({ kind: 'identifier', pattern: 'a' })).toEqual(['a', 'a'])
    expect(await texts({ pattern: 'function f($A: number) {}', selector: 'required_parameter' })).toEqual(['a: number'])
    expect(await texts({ pattern: 'log($A)', strictness: 'signature' })).toEqual(['log(é)'])
  })
  it('reads files, directories and globs together, each once, and skips missing ones while one exists', async () => {
    await using ws = await bootKernel({ files: project })
    const result = await structural(ws, {
      pattern: 'log($$$A)',
      paths: ['src/app.ts', 'src/*.ts', 'gone.ts', 'src/lib.py'],
    })
    expect(result.matches.map((match: any) => match.file)).toEqual(['src/app.ts', 'src/app.ts', 'src/lib.py'])
    expect(result.notices).toContain('VT_SEARCH_PARTIAL')
    expect(await refused(ws, { pattern: 'x', paths: ['gone.ts', 'lost.ts'] })).toMatchObject({
      code: 'VT_PATH_NOT_FOUND',
    })
  })
  it('pages through all matches without loss', async () => {
    await using ws = await bootKernel({ files: project })
    const seen: string[] = []
    let input: object | undefined = { pattern: 'log($$$A)', max_results: 1 }
    while (input) {
      const page = await structural(ws, input)
      seen.push(...page.matches.map((match: any) => `${match.file}:${match.line_number}`))
      input = page.next?.input
    }
    expect(seen).toEqual(['src/app.ts:1', 'src/app.ts:3', 'src/lib.py:2', 'src/view.tsx:1'])
  })
  it('parses a named file as the requested language', async () => {
    await using ws = await bootKernel({ files: { script: 'log(1)\n' } })
    expect((await structural(ws, { pattern: 'log($A)', lang: 'js', path: 'script' })).matches).toMatchObject([
      { file: 'script', language: 'JavaScript' },
    ])
  })
  it('skips languages in which the pattern is no code and reports that', async () => {
    await using ws = await bootKernel({ files: { ...project, 'a.rs': 'fn f(a: u8) -> u8 { a }\n' } })
    const result = await structural(ws, { pattern: 'fn $NAME($$$ARGS) -> $RET { $$$BODY }' })
    expect(result.matches.map((match: any) => match.file)).toEqual(['a.rs'])
    expect(result.notices).toContain('VT_SEARCH_LANG_SKIPPED')
  })
  it('finds the same with and without the prefilter for a word or operator that every match holds', async () => {
    const root = dirname(createRequire(import.meta.url).resolve('vite/package.json'))
    const files = Object.fromEntries(
      ['bin/vite.js', 'dist/client/client.mjs', 'dist/client/env.mjs', 'index.cjs'].flatMap((file) => {
        try {
          return [[file, readFileSync(join(root, file), 'utf8')]]
        } catch {
          return []
        }
      }),
    )
    await using ws = await bootKernel({ files })
    for (const pattern of [
      'console.$M($$$A)',
      'import($A)',
      'process.exit($A)',
      'new $C($$$A)',
      'async function $F($$$A) { $$$B }',
      'if ($A) { $$$B }',
      '$A.addEventListener($$$B)',
      'setTimeout($$$A)',
      '$A ?? $B',
      '$A === $B',
      '$A !== $B',
      '($A) => $B',
      '$A && $B',
    ]) {
      const key = ({ file, range }: any) => `${file}:${range.byteOffset.start}-${range.byteOffset.end}`
      const filtered = (await structural(ws, { pattern, max_results: 10_000 })).matches.map(key)
      // A comment in the pattern keeps the filter off, and `smart` strictness does not ask for it in a match.
      const every = (
        await Promise.all(Object.keys(files).map((path) => structural(ws, { pattern, path, max_results: 10_000 })))
      ).flatMap((page) => page.matches.map(key))
      expect(filtered.sort()).toEqual(every.sort())
    }
  })
})

describe('unified_search/structural: wrong query', () => {
  it('refuses a prose query and suggests the plain search', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await refused(ws, { pattern: 'where is the log', path: 'src/app.ts' })).toMatchObject({
      code: 'VT_SEARCH_PATTERN',
      next: { input: { action: 'grep', pattern: 'where is the log', literal: true, path: 'src/app.ts' } },
    })
  })
  it('refuses a fragment that finds nothing', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await refused(ws, { pattern: 'log(', lang: 'ts' })).toMatchObject({
      code: 'VT_SEARCH_FRAGMENT',
      next: { input: { pattern: 'log(' } },
    })
  })
  it('shows where a pattern does not parse, in each language and workflow, and changes nothing', async () => {
    await using ws = await bootKernel({ files: project })
    const errors = [
      [{ pattern: 'log(', lang: 'ts' }, 'VT_SEARCH_FRAGMENT', 'line 1, column 1 to line 1, column 4', [0, 0, 0, 4]],
      [
        { pattern: 'where is the log', lang: 'ts' },
        'VT_SEARCH_PATTERN',
        'line 1, column 1 to line 1, column 12',
        [0, 0, 0, 12],
      ],
      [
        { pattern: 'x = {\n y: (', lang: 'ts', workflow: 'rewrite', rewrite: 'y' },
        'VT_SEARCH_FRAGMENT',
        'line 1, column 1 to line 2, column 5',
        [0, 0, 1, 5],
      ],
      [{ pattern: 'top($A))', lang: 'py' }, 'VT_SEARCH_FRAGMENT', 'line 1, column 1 to line 1, column 8', [0, 0, 0, 8]],
    ] as const
    for (const [input, code, message, [line, column, endLine, endColumn]] of errors) {
      expect(await refused(ws, input)).toMatchObject({
        code,
        message: expect.stringContaining(message),
        details: { error_range: { start: { line, column }, end: { line: endLine, column: endColumn } } },
      })
    }
    expect(await ws.read('src/app.ts')).toBe(project['src/app.ts'])
  })
  it('reports an error deep inside a pattern instead of an empty answer, and accepts metavariables', async () => {
    const files = {
      ...project,
      'a.java': 'class A { void f() { log(1); } }\n',
      'a.c': 'int f(void) { return log(1); }\n',
      'a.php': '<?php\nlog(1);\n',
      'a.html': '<p>é</p>\n',
      'a.rs': 'fn f() {}\n',
    }
    await using ws = await bootKernel({ files })
    const broken = [
      ['ts', 'if ($A) { é("😀"); foo( }', 'line 1, column 19 to line 1, column 22', 'if ('],
      ['tsx', 'const $V = () => { return <p> }', 'line 1, column', 'const'],
      ['py', 'def f($A): return [$B)', 'line 1, column 1', 'def f('],
      ['java', 'class $A { void f(int) ] }', 'line 1, column', 'class'],
      ['rust', 'fn f($A) { let = ; }', 'line 1, column', 'fn f('],
      ['html', '<p class=">$A</p>', 'line 1, column', '<p class=">'],
    ]
    for (const [lang, pattern, place, text] of broken) {
      const error = await refused(ws, { lang, pattern })
      expect(error, pattern).toMatchObject({
        code: 'VT_SEARCH_FRAGMENT',
        message: expect.stringContaining(place!),
        next: { input: { action: 'grep', pattern: text, literal: true } },
      })
    }
    const sound = [
      ['java', 'class $A { $$$B }', 1],
      ['java', 'class $A extends None { $$$B }', 0],
      ['c', 'if ($A) { $$$B }', 0],
      ['php', 'none($A)', 0],
      ['php', 'log($A)', 1],
      ['py', 'def none($A): $$$B', 0],
      ['rust', 'impl $A for $B { $$$C }', 0],
      ['html', '<i class="none">$A</i>', 0],
      ['ts', 'none($$$A)', 0],
    ] as const
    for (const [lang, pattern, found] of sound)
      expect(await structural(ws, { lang, pattern }), pattern).toMatchObject({ total_matches: found, notices: [] })
  })
  it('shows the place of a missing bracket with the empty answer', async () => {
    await using ws = await bootKernel({ files: { 'a.java': 'class A {}\n' } })
    const result = await ws.call('unified_search', { action: 'structural', pattern: 'class $A { void f( { } }' })
    expect(result).toMatchObject({
      ok: true,
      output: { matches: [] },
      notices: [{ code: 'VT_SEARCH_FRAGMENT', message: expect.stringContaining('missing at line 1, column 1') }],
    })
  })
  it('warns that matches may be missing when a pattern with an error matches', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await structural(ws, { pattern: 'def top($A)', lang: 'py' })).toMatchObject({
      total_matches: 1,
      notices: ['VT_SEARCH_FRAGMENT'],
    })
  })
  it('reports a pattern that is wrong in one of several languages, with the answers of the others', async () => {
    await using ws = await bootKernel({ files: { 'a.py': 'x = 1\n', 'a.ts': 'x = 1\n' } })
    expect(await structural(ws, { pattern: 'def none(): return 1' })).toMatchObject({
      matches: [],
      notices: [expect.stringMatching(/^VT_SEARCH_/)],
    })
    expect(await refused(ws, { pattern: 'x = [1' })).toMatchObject({ code: 'VT_SEARCH_FRAGMENT' })
  })
  it('names lower-case metavariables, unknown kinds and unknown languages', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await refused(ws, { pattern: 'log($name)' })).toMatchObject({
      code: 'VT_SEARCH_PATTERN',
      message: expect.stringContaining('$NAME'),
    })
    expect(await refused(ws, { kind: 'no_such_kind', lang: 'ts' })).toMatchObject({
      code: 'VT_SEARCH_KIND',
      message: expect.stringContaining('no_such_kind'),
    })
    expect(await refused(ws, { pattern: 'x', lang: 'klingon' })).toMatchObject({
      code: 'VT_SEARCH_LANG',
      message: expect.stringMatching(/klingon.*typescript/),
    })
  })
  it('names the known languages for a file whose name shows none', async () => {
    await using ws = await bootKernel({ files: { ...project, 'notes.xyz': 'log(1)\n', script: 'log(1)\n' } })
    for (const input of [{ path: 'notes.xyz' }, { paths: ['notes.xyz', 'script'] }]) {
      expect(await refused(ws, { pattern: 'log($A)', ...input })).toMatchObject({
        code: 'VT_SEARCH_LANG',
        message: expect.stringMatching(/notes\.xyz.*typescript.*python/),
      })
    }
    expect(await structural(ws, { pattern: 'log($A)', paths: ['notes.xyz', 'src/lib.py'] })).toMatchObject({
      total_matches: 1,
      notices: ['VT_SEARCH_LANG_SKIPPED'],
    })
    expect(await structural(ws, { pattern: 'log($A)', path: 'notes.xyz', lang: 'ts' })).toMatchObject({
      total_matches: 1,
    })
  })
  it('refuses fields of another workflow or of the program by name', async () => {
    await using ws = await bootKernel({ files: project })
    expect(await refused(ws, { workflow: 'scan', pattern: 'x' })).toMatchObject({
      code: 'VT_INPUT_NOT_ALLOWED',
      message: expect.stringMatching(/pattern.*query, rewrite.*scan/),
    })
    expect(await refused(ws, { workflow: 'test', path: 'src' })).toMatchObject({ code: 'VT_INPUT_NOT_ALLOWED' })
    expect(await refused(ws, { pattern: 'x', update_all: true })).toMatchObject({
      code: 'VT_INPUT_UNKNOWN',
      hint: expect.stringMatching(/ast-grep.*unified_exec/),
    })
    // A flag with another meaning in a related action is refused with the same advice.
    expect(await refused(ws, { pattern: 'x', follow: true })).toMatchObject({
      code: 'VT_INPUT_NOT_ALLOWED',
      message: expect.stringContaining('follow'),
      hint: expect.stringMatching(/ast-grep.*unified_exec/),
    })
    expect(await refused(ws, {})).toMatchObject({ code: 'VT_INPUT_MISSING' })
    expect(await refused(ws, { pattern: 'x', debug_query: 'ast' })).toMatchObject({
      code: 'VT_INPUT_MISSING',
      message: expect.stringContaining('lang'),
    })
  })
  it('names the program to install when it is missing', async () => {
    process.env['VTCODE_AST_GREP_BIN'] = '/nonexistent/ast-grep'
    await using ws = await bootKernel({ files: project })
    expect(await refused(ws, { pattern: 'log($A)', path: 'src/lib.py' })).toMatchObject({
      code: 'VT_SEARCH_ENGINE_MISSING',
      hint: expect.stringContaining('vtcode dependencies install ast-grep'),
    })
    const rest = await structural(ws, { pattern: 'log($A)' })
    expect(rest.matches.map((match: any) => match.file)).toEqual(['src/app.ts', 'src/view.tsx'])
    expect(rest.notices).toEqual(['VT_SEARCH_LANG_SKIPPED'])
  })
  it('survives deeply nested code', async () => {
    await using ws = await bootKernel({ files: { 'deep.js': `${'('.repeat(500)}1${')'.repeat(500)}` } })
    const result = await ws.call('unified_search', { action: 'structural', pattern: 'log($A)', path: 'deep.js' })
    expect(typeof result.ok).toBe('boolean')
    expect((await ws.call('unified_search', { action: 'grep', pattern: 'x' })).ok).toBe(true)
  })
})

it('shows how a pattern is parsed', async () => {
  await using ws = await bootKernel({ files: project })
  expect((await structural(ws, { pattern: 'log($A)', lang: 'ts', debug_query: 'ast' })).debug).toMatchObject({
    format: 'ast',
    text: expect.stringContaining('call_expression'),
  })
})

describe('unified_search/structural: rewrite', () => {
  it('previews replacements and writes nothing', async () => {
    await using ws = await bootKernel({ files: project })
    const result = await structural(ws, { workflow: 'rewrite', pattern: 'log($A)', rewrite: 'print($A)' })
    expect(result).toMatchObject({
      total_rewrites: 3,
      rewrites: [
        {
          file: 'src/app.ts',
          replacement: 'print(é)',
          replacementOffsets: { start: 19, end: 26 },
          metaVariables: { single: { A: { text: 'é' } } },
        },
        {},
        {},
      ],
    })
    expect(result.text).toContain('src/app.ts:1\n- log(é)\n+ print(é)')
    const page = await structural(ws, { workflow: 'rewrite', pattern: 'log($A)', rewrite: 'print($A)', max_results: 1 })
    expect(page.text).toMatch(/\n1 of 3 rewrites in 3 files \(preview, nothing written\); continue with skip=1$/)
    expect(await ws.read('src/app.ts')).toBe(project['src/app.ts'])
  })
  it('substitutes captures in a template that expands to both sides', async () => {
    await using ws = await bootKernel({ files: { 'a.ts': 'const xs = [one, legacy(1), two]\n' } })
    const { rewrites } = await structural(ws, {
      workflow: 'rewrite',
      lang: 'ts',
      pattern: 'legacy($A)',
      fix_config: { template: '+$A', expand_start: { regex: ',' }, expand_end: { regex: ',' } },
    })
    expect(rewrites).toMatchObject([
      { text: 'legacy(1)', replacement: '+1', replacementOffsets: { start: 15, end: 27 } },
    ])
  })
  it('requires exactly one kind of replacement and refuses unknown ones', async () => {
    await using ws = await bootKernel({ files: project })
    expect(
      await refused(ws, { workflow: 'rewrite', pattern: 'a', rewrite: 'b', fix_config: { template: 'c' } }),
    ).toMatchObject({ code: 'VT_INPUT_CONFLICT' })
    expect(
      await refused(ws, { workflow: 'rewrite', pattern: 'a', fix_config: { template: 'c', colour: 1 } }),
    ).toMatchObject({ code: 'VT_INPUT_UNKNOWN' })
  })
  it('names the fault in an expansion of a range', async () => {
    await using ws = await bootKernel({ files: project })
    const growing = (expand_end: object) =>
      refused(ws, { workflow: 'rewrite', lang: 'ts', pattern: 'log($A)', fix_config: { template: 'x', expand_end } })
    for (const expand of [{}, { stop_by: 'end' }, { regex: ',', kind: 'identifier' }])
      expect(await growing(expand)).toMatchObject({
        code: 'VT_INPUT_INVALID',
        message: expect.stringContaining('exactly one of regex, kind, pattern'),
      })
    expect(await growing({ regex: '(' })).toMatchObject({
      code: 'VT_SEARCH_PATTERN',
      message: "'(' of fix_config is not a regular expression: unclosed group.",
    })
    expect(await growing({ kind: 'nonsense' })).toMatchObject({
      code: 'VT_SEARCH_KIND',
      message: expect.stringContaining('nonsense'),
    })
  })
  it('withholds replacements of code that does not parse, counts them and returns the others', async () => {
    await using ws = await bootKernel({
      files: { 'a.ts': 'log(1)\nlog(2, @@@)\nlog(3)\n', 'b.py': 'log(1)\nlog(x y)\n' },
    })
    const ts = await structural(ws, { workflow: 'rewrite', lang: 'ts', pattern: 'log($$$A)', rewrite: 'print($$$A)' })
    expect(ts.rewrites.map(({ replacement }: any) => replacement)).toEqual(['print(1)', 'print(3)'])
    expect(ts).toMatchObject({ total_rewrites: 2, notices: ['VT_SEARCH_PARSE'] })
    const py = await ws.call('unified_search', {
      action: 'structural',
      workflow: 'rewrite',
      lang: 'py',
      pattern: 'log($$$A)',
      rewrite: 'print($$$A)',
    })
    expect(py).toMatchObject({
      ok: true,
      output: { total_rewrites: 1, rewrites: [{ replacement: 'print(1)' }] },
      notices: [
        {
          code: 'VT_SEARCH_PARSE',
          message: expect.stringContaining('left out: 1 replacement in syntax errors'),
        },
      ],
    })
  })
  it('previews a thousand files, one of them read-only, and changes none', async () => {
    const files = Object.fromEntries(
      Array.from({ length: 1000 }, (_, index) => [`d/f${String(index).padStart(4, '0')}.ts`, `log(${index})\n`]),
    )
    await using ws = await bootKernel({ files })
    chmodSync(join(ws.root, 'd/f0700.ts'), 0o444)
    const result = await structural(ws, {
      workflow: 'rewrite',
      pattern: 'log($A)',
      rewrite: 'print($A)',
      max_results: 1000,
    })
    expect(result).toMatchObject({ total_rewrites: 1000, truncated: false })
    expect(result.rewrites[700]).toMatchObject({ file: 'd/f0700.ts', replacement: 'print(700)' })
    for (const [path, text] of Object.entries(files)) expect(await ws.read(path)).toBe(text)
  })
  it('refuses a replacement with a metavariable that the pattern does not bind, in each form of it', async () => {
    await using ws = await bootKernel({ files: project })
    for (const how of [
      { rewrite: 'print($B)' },
      { rewrite: 'print($$$B)' },
      { rewrite: 'print($A,\n  $B)' },
      { fix_config: { template: 'print($B)' } },
    ]) {
      expect(await refused(ws, { workflow: 'rewrite', lang: 'ts', pattern: 'log($A)', ...how })).toMatchObject({
        code: 'VT_SEARCH_PATTERN',
        message: expect.stringContaining("'$B'"),
      })
    }
  })
})

it('finds the same after changed files, swapped links and a cleared temporary folder', async () => {
  await using ws = await bootKernel({ files: { 'a.py': 'log(1)\n', 'b.py': 'log(2)\nlog(3)\n' } })
  await using out = await tempWorkspace({ 'secret.py': 'log("secret")\n' })
  const texts = async () =>
    (await structural(ws, { pattern: 'log($A)', lang: 'py', path: '.' })).matches.map(
      ({ file, text }: any) => `${file} ${text}`,
    )
  expect(await texts()).toEqual(['a.py log(1)', 'b.py log(2)', 'b.py log(3)'])
  await ws.write('a.py', 'x = 1\nlog(4)\n')
  expect(await texts()).toEqual(['a.py log(4)', 'b.py log(2)', 'b.py log(3)'])
  unlinkSync(join(ws.root, 'a.py'))
  symlinkSync(join(out.root, 'secret.py'), join(ws.root, 'a.py'))
  expect(await texts()).toEqual(['b.py log(2)', 'b.py log(3)'])
  for (const name of readdirSync(tmpdir()))
    if (name.startsWith(`vtcode-links-${process.pid}-`)) rmSync(join(tmpdir(), name), { recursive: true })
  expect(await texts()).toEqual(['b.py log(2)', 'b.py log(3)'])
})

it('starts the program once for the search, once for the pattern, and never where a library serves the language', async () => {
  await using ws = await bootKernel({ files: project })
  const [program, log] = [
    createRequire(import.meta.url)('@ast-grep/cli/postinstall.js').resolveBinaryPath() as string,
    join(ws.home, 'starts'),
  ]
  writeFileSync(join(ws.home, 'counting'), `#!/bin/sh\necho "$1" >> '${log}'\nexec '${program}' "$@"\n`, {
    mode: 0o755,
  })
  process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'counting')
  const starts = async (input: object) => {
    writeFileSync(log, '')
    expect((await structural(ws, input)).total_matches).toBe(1)
    return readFileSync(log, 'utf8').split('\n').length - 1
  }
  expect(await starts({ pattern: 'log($A)', lang: 'py' })).toBe(2)
  // Rules refuse a pattern with an error, and a search does not.
  expect(await starts({ pattern: 'def top($A)', lang: 'py' })).toBe(3)
  expect(await starts({ pattern: 'log($A)', lang: 'ts' })).toBe(0)
  expect(await starts({ pattern: 'log($A)', lang: 'tsx', debug_query: 'ast' })).toBe(3)
})

it('reports a missing temporary folder and names TMPDIR', async () => {
  await using ws = await bootKernel({ files: project })
  const before = process.env['TMPDIR']
  process.env['TMPDIR'] = '/nonexistent/here'
  try {
    expect(await refused(ws, { pattern: 'log($A)', lang: 'py' })).toMatchObject({
      code: 'VT_SEARCH_FAILED',
      message: expect.stringContaining('/nonexistent'),
      hint: expect.stringContaining('TMPDIR'),
    })
  } finally {
    if (before === undefined) delete process.env['TMPDIR']
    else process.env['TMPDIR'] = before
  }
})

it('fails with VT_SEARCH_FAILED when the program dies', async () => {
  await using ws = await bootKernel({ files: project })
  writeFileSync(join(ws.home, 'dying'), '#!/bin/sh\nkill -9 $$\n', { mode: 0o755 })
  process.env['VTCODE_AST_GREP_BIN'] = join(ws.home, 'dying')
  expect(await refused(ws, { pattern: 'log($A)' })).toMatchObject({ code: 'VT_SEARCH_FAILED' })
})

describe('unified_search/structural: project', () => {
  const rules: Files = {
    'sgconfig.yml': 'ruleDirs: [rules]\ntestConfigs:\n  - testDir: tests\n',
    'rules/no-log.yml':
      'id: no-log\nlanguage: TypeScript\nseverity: warning\nmessage: No $A\nmetadata:\n  owner: me\nrule:\n  pattern: log($A)\n',
    'tests/no-log.yml': 'id: no-log\nvalid: [other(x)]\ninvalid: [other(x)]\n',
    'a.ts': 'log(1)\nlog(2)\n',
    'out/b.ts': 'log(3)\n',
    '.gitignore': 'out/\n',
  }
  it('scans a project with its own rules, in the files that every search sees', async () => {
    await using ws = await bootKernel({ files: rules })
    expect(await structural(ws, { workflow: 'scan', max_results: 1 })).toMatchObject({
      text: expect.stringMatching(/\n1 of 2 findings \(2 warnings\); continue with skip=1$/),
      findings: [
        {
          file: 'a.ts',
          rule_id: 'no-log',
          severity: 'warning',
          message: 'No 1',
          note: null,
          metadata: { owner: 'me' },
        },
      ],
      truncated: true,
      summary: {
        total_findings: 2,
        returned_findings: 1,
        has_error_findings: false,
        by_severity: { warning: 2 },
        by_rule: { 'no-log': 2 },
      },
      next: { input: { workflow: 'scan', skip: 1 } },
    })
  })
  it('reports a rewrite that a workflow ignores', async () => {
    await using ws = await bootKernel({ files: rules })
    for (const input of [
      { workflow: 'scan' },
      { workflow: 'test' },
      { workflow: 'inspect' },
      { workflow: 'query', pattern: 'log($A)' },
    ])
      expect((await structural(ws, { ...input, rewrite: 'print($A)' })).notices).toContain('VT_INPUT_IGNORED')
  })
  it('refuses a project without configuration or an unknown rule and lists the existing ones', async () => {
    await using ws = await bootKernel({ files: { ...rules, 'sub/sgconfig.yml': '', 'sub/deep/x.ts': '' } })
    expect(await refused(ws, { workflow: 'scan', config_path: 'none.yml', path: 'sub/deep' })).toMatchObject({
      code: 'VT_SEARCH_CONFIG_MISSING',
      details: { discovered_configs: ['sub/sgconfig.yml', 'sgconfig.yml'] },
      next: { input: { workflow: 'inspect' } },
    })
    expect(await refused(ws, { workflow: 'scan', filter: 'absent' })).toMatchObject({
      code: 'VT_SEARCH_RULE',
      details: { rules: ['no-log'] },
    })
  })
  it('shows why a rule test failed', async () => {
    await using ws = await bootKernel({ files: rules })
    const result = await ws.call('unified_search', { action: 'structural', workflow: 'test' })
    expect(result.ok && result.text).toMatch(
      /^failed no-log \.M\n\[Missing\] Expect rule no-log to report issues, but none found in:\n[^]*\n0 passed, 1 failed$/,
    )
  })
  it('tests the rules of a project and returns failing tests as an answer', async () => {
    await using ws = await bootKernel({ files: rules })
    expect(await structural(ws, { workflow: 'test' })).toMatchObject({
      passed: false,
      summary: { status: 'failed', failed: 1, rules: [{ id: 'no-log', cases: '.M' }] },
    })
  })
  it('refuses a project with broken configuration, gives the reason and still inspects it', async () => {
    await using ws = await bootKernel({
      files: { ...rules, 'rules/bad.yml': 'id: bad\nlanguage: TypeScript\nrule: { patern: x }\n' },
    })
    expect(await refused(ws, { workflow: 'scan' })).toMatchObject({
      code: 'VT_SEARCH_CONFIG_INVALID',
      next: { input: { workflow: 'inspect' } },
    })
    await ws.write('sgconfig.yml', 'ruleDirs: [rules\nx')
    expect(await refused(ws, { workflow: 'inspect' })).toMatchObject({
      code: 'VT_SEARCH_CONFIG_INVALID',
      message: expect.stringMatching(/line \d+, column \d+/),
    })
    await ws.write('sgconfig.yml', 'ruleDirs: [gone]\n')
    expect(await structural(ws, { workflow: 'inspect' })).toMatchObject({ config_exists: true, missing_dirs: ['gone'] })
    expect(await refused(ws, { workflow: 'scan' })).toMatchObject({
      code: 'VT_SEARCH_CONFIG_INVALID',
      message: expect.not.stringContaining(ws.root),
    })
  })
})

describe('unified_search/structural: languages of the project file', () => {
  it('parses files as the languages that the project file sets', async () => {
    await using ws = await bootKernel({
      files: {
        'sgconfig.yml': 'ruleDirs: []\nlanguageGlobs:\n  typescript: ["*.tsq", "strange/*.js"]\n  html: ["*.vue"]\n',
        'a.tsq': 'log(1 as number)\n',
        'strange/b.js': 'log(2 as any)\n',
        'c.vue': '<p>x</p>\n',
      },
    })
    const { matches } = await structural(ws, { pattern: 'log($A as $T)' })
    expect(matches.map(({ file, language }: any) => [file, language])).toEqual([
      ['a.tsq', 'TypeScript'],
      ['strange/b.js', 'TypeScript'],
    ])
    expect((await structural(ws, { kind: 'element', lang: 'html' })).matches).toMatchObject([
      { file: 'c.vue', text: '<p>x</p>' },
    ])
  })
  it('finds languages embedded in others where the project file declares them', async () => {
    const injection =
      'ruleDirs: []\nlanguageInjections:\n- hostLanguage: js\n  rule:\n    pattern: styled`$CONTENT`\n  injected: css\n'
    await using ws = await bootKernel({
      files: { 'sgconfig.yml': injection, 'a.js': 'const b = styled`\n.x { color: red }\n`\n' },
    })
    expect((await structural(ws, { kind: 'declaration', path: 'a.js' })).matches).toMatchObject([
      { file: 'a.js', line_number: 2, language: 'Css' },
    ])
  })
  it('refuses custom languages of a project until the user trusts them in ast-grep', async () => {
    const custom = 'ruleDirs: [rules]\ncustomLanguages:\n  own:\n    libraryPath: own.so\n    extensions: [own]\n'
    await using ws = await bootKernel({
      files: {
        'sgconfig.yml': custom,
        'own.so': 'no library',
        'a.own': 'x',
        'b.js': 'log(1)\n',
        'rules/a.yml': 'id: a\nlanguage: js\nrule: { pattern: log($A) }\n',
      },
    })
    expect(await structural(ws, { pattern: 'log($A)' })).toMatchObject({ matches: [{ file: 'b.js' }] })
    expect(await structural(ws, { workflow: 'scan' })).toMatchObject({ findings: [{ file: 'b.js', rule_id: 'a' }] })
  })
  it('queries, scans and tests a real custom grammar after ast-grep trusts the project, not before', async () => {
    const platform = `${process.platform}-${process.arch}`
    const grammar = join(
      dirname(createRequire(import.meta.url).resolve('@tree-sitter-grammars/tree-sitter-toml/package.json')),
      `prebuilds/${platform}/@tree-sitter-grammars+tree-sitter-toml.node`,
    )
    const language =
      'customLanguages:\n  mine:\n    libraryPath: mine.so\n    languageSymbol: tree_sitter_toml\n    extensions: [mine]\n    expandoChar: _\n'
    await using ws = await bootKernel({
      files: {
        'sgconfig.yml': `ruleDirs: [rules]\ntestConfigs:\n  - testDir: tests\n${language}`,
        'mine.so': readFileSync(grammar),
        'a.mine': 'port = 1\n',
        'rules/port.yml': 'id: port\nlanguage: mine\nmessage: Found\nrule: { kind: pair }\n',
        'tests/port.yml': 'id: port\nvalid: ["# none"]\ninvalid: []\n',
      },
    })
    process.env['AST_GREP_TRUST_DIR'] = ws.home
    expect(await refused(ws, { workflow: 'scan' })).toMatchObject({
      code: 'VT_SEARCH_CONFIG_INVALID',
      message: expect.stringContaining('custom languages are ignored'),
      hint: expect.stringContaining('--custom-languages trust'),
    })
    expect(await refused(ws, { pattern: 'port = $A', lang: 'mine' })).toMatchObject({ code: 'VT_SEARCH_LANG' })
    writeFileSync(join(ws.home, 'trusted-configs.json'), JSON.stringify([join(ws.root, 'sgconfig.yml')]))
    expect(await structural(ws, { workflow: 'scan' })).toMatchObject({
      findings: [{ file: 'a.mine', rule_id: 'port', language: 'mine', text: 'port = 1' }],
    })
    expect(await structural(ws, { workflow: 'test' })).toMatchObject({
      passed: true,
      summary: { rules: [{ id: 'port' }] },
    })
    expect(await structural(ws, { pattern: 'port = $A' })).toMatchObject({
      matches: [{ file: 'a.mine', language: 'mine', text: 'port = 1' }],
    })
  })
})

it('serves the action by an override of a third-party manifest and leaves other searches unchanged', async () => {
  await using acme = await tempWorkspace({
    'acme_structural.yaml':
      'name: acme_structural\naction: unified_search/structural\nstage: override\nmodule: ./acme_structural.js\n',
    'acme_structural.js':
      "import { ok } from 'vtcode'\nexport default ({ input }) => ok({ workflow: input.workflow, matches: [], total_matches: 0, truncated: false, backend: 'acme' }, { text: input.pattern })\n",
  })
  await using ws = await bootKernel({ files: project, manifests: [acme.root] })
  // The schema, aliases and defaults of the slot apply to the override too.
  expect(await structural(ws, { pattern: 'log($A)', language: 'ts' })).toMatchObject({
    backend: 'acme',
    workflow: 'query',
    text: 'log($A)',
  })
  expect(await refused(ws, { pattern: 'log($A)', path: '../outside' })).toMatchObject({ code: 'VT_PATH_OUTSIDE' })
  const claimed = (action: string) => ws.kernel.list().find(({ slot }) => slot === `unified_search/${action}`)
  expect(JSON.stringify(claimed('structural'))).toContain('acme_structural')
  expect(JSON.stringify(claimed('grep'))).not.toContain('acme')
  expect(await ws.call('unified_search', { action: 'grep', pattern: 'log(a', literal: true })).toMatchObject({
    ok: true,
    output: { matches: [{ file: 'src/app.ts' }, { file: 'src/lib.py' }] },
  })
  expect(await ws.call('unified_search', { action: 'outline', path: 'src/lib.py' })).toMatchObject({
    ok: true,
    output: { backend: 'ast-grep' },
  })
})
