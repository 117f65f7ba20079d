import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'

afterEach(() => {
  delete process.env['VTCODE_RIPGREP_BIN']
  delete process.env['VTCODE_AST_GREP_BIN']
})

describe('unified_search: crash of ripgrep', () => {
  it.each([
    ['by a signal before its first word', 'kill -9 $$'],
    ['by a signal after a part of its answer', `printf '{"type":"be'; kill -SEGV $$`],
    ['by a fault of its own', 'exit 134'],
  ])('answers by the JavaScript engine with a notice when ripgrep ends %s', async (_, body) => {
    await using ws = await bootKernel({ files: { 'a.txt': 'alpha\n', 'b/c.txt': 'alpha\nalpha\n' } })
    const program = join(ws.home, 'rg')
    writeFileSync(program, `#!/bin/bash\n${body}\n`)
    chmodSync(program, 0o755)
    process.env['VTCODE_RIPGREP_BIN'] = program
    const fallback = [expect.objectContaining({ code: 'VT_SEARCH_FALLBACK' })]
    for (const path of ['.', 'a.txt']) {
      expect(await ws.call('unified_search', { action: 'grep', pattern: 'alpha', path }), path).toMatchObject({
        ok: true,
        output: { total_matches: path === '.' ? 3 : 1, backend: 'javascript' },
        notices: fallback,
      })
    }
    expect(
      await ws.call('unified_search', { action: 'list', mode: 'find_content', content_pattern: 'alpha' }),
    ).toMatchObject({ ok: true, output: { total: 2 }, notices: fallback })
    expect(await ws.call('unified_search', { action: 'list', mode: 'recursive' })).toMatchObject({
      ok: true,
      output: { total: 3 },
    })
  })
})

/** Replaces ripgrep by a program of this body until the test ends. */
function replaceRipgrep(home: string, body: string): void {
  const program = join(home, 'rg')
  writeFileSync(program, `#!/bin/bash\n${body}\n`)
  chmodSync(program, 0o755)
  process.env['VTCODE_RIPGREP_BIN'] = program
}

it('answers by the JavaScript engine with a notice when ripgrep takes more than 256 MiB', async () => {
  await using ws = await bootKernel({ files: { 'a.txt': 'alpha\n', 'b/c.txt': 'alpha\n' } })
  replaceRipgrep(ws.home, `exec python3 -c 'import time; held = b"x" * (300 << 20); time.sleep(600)'`)
  expect(await ws.call('unified_search', { action: 'grep', pattern: 'alpha' })).toMatchObject({
    ok: true,
    output: { total_matches: 2, backend: 'javascript' },
    notices: [expect.objectContaining({ code: 'VT_SEARCH_FALLBACK' })],
  })
})

it.each([
  ['a pipe', '.gitignore', 'mkfifo .gitignore'],
  ['a pipe deep below', 'b/deep/.ignore', 'mkdir b/deep; mkfifo b/deep/.ignore'],
  ['a pipe in the folder of a repository', '.git/info/exclude', 'mkdir -p .git/info; mkfifo .git/info/exclude'],
])('answers by the JavaScript engine and names an ignore file that is %s', async (_, path, script) => {
  await using ws = await bootKernel({
    files: {
      'a.txt': 'alpha\n',
      'b/c.txt': 'alpha\n',
      'b/c.js': 'function alpha(x) {\n  return other(x)\n}\nalpha(1)\n',
    },
  })
  execFileSync('sh', ['-c', script], { cwd: ws.root })
  replaceRipgrep(ws.home, 'exec sleep 600')
  const named = expect.objectContaining({
    code: 'VT_SEARCH_PARTIAL',
    message: expect.stringContaining(`'${path}' is a `),
  })
  const [grep, structural, list, similarity] = await Promise.all([
    ws.call('unified_search', { action: 'grep', pattern: 'alpha' }),
    ws.call('unified_search', { action: 'structural', pattern: 'alpha($A)', lang: 'javascript' }),
    ws.call('unified_search', { action: 'list', mode: 'recursive' }),
    ws.call('grep_search', { action: 'similarity', reference_file: 'b/c.js' }),
  ])
  expect(grep).toMatchObject({
    ok: true,
    output: { total_matches: 4, backend: 'javascript' },
    notices: [expect.objectContaining({ code: 'VT_SEARCH_FALLBACK' }), named],
  })
  expect(structural).toMatchObject({ ok: true, output: { total_matches: 1 }, notices: [named] })
  expect(list).toMatchObject({ ok: true, notices: [named] })
  expect(similarity).toMatchObject({ ok: false, error: { code: 'VT_SEARCH_ENGINE_MISSING' } })
})

/** Replaces ast-grep by a program that takes more memory than a parser may, until the test ends. */
function replaceAstGrep(home: string): void {
  const program = join(home, 'ast-grep')
  const body = `import time; held = b"x" * (1100 << 20); time.sleep(600)`
  writeFileSync(
    program,
    `#!/bin/sh\n[ "$1" = --version ] && echo "ast-grep 0.40.0" && exit\nexec python3 -c '${body}'\n`,
  )
  chmodSync(program, 0o755)
  process.env['VTCODE_AST_GREP_BIN'] = program
}

describe('unified_search/structural: large files', () => {
  it('skips a file of more than 8 MiB with a notice unless it is named', async () => {
    await using ws = await bootKernel({ files: { 'small.js': 'f(1)\n', 'large.js': `${'f(1);\n'.repeat(1_500_000)}` } })
    const result = await ws.call('unified_search', { action: 'structural', pattern: 'f(1)', lang: 'javascript' })
    expect(result).toMatchObject({
      ok: true,
      output: { total_matches: 1 },
      notices: [expect.objectContaining({ message: expect.stringContaining('large.js') })],
    })
  })
  it('ends a structural search of a named file when its engine takes more than 1 GiB', async () => {
    await using ws = await bootKernel({ files: { 'line.js': 'f(1)\n'.repeat(2_000_000) } })
    replaceAstGrep(ws.home)
    const result = await ws.call('unified_search', {
      action: 'structural',
      pattern: 'g(2)',
      path: 'line.js',
      lang: 'javascript',
    })
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_TOO_LARGE', message: expect.stringContaining('memory') },
    })
  })
})

describe('unified_search/outline: large files', () => {
  it('skips a file of more than 8 MiB with a notice unless it is named and outlines the others', async () => {
    await using ws = await bootKernel({
      files: {
        'small.js': 'export function f() {}\n',
        'large.js': 'f(1);'.repeat(2_000_000),
        'large.sh': 'f 1;'.repeat(2_500_000),
      },
    })
    const result = await ws.call('unified_search', { action: 'outline', path: '.' })
    expect(result).toMatchObject({ ok: true, output: { files: [{ path: 'small.js' }] } })
    expect(JSON.stringify(result.ok && result.notices)).toMatch(/large\.js.*large\.sh|large\.sh.*large\.js/)
  })
  it('ends an outline of a named file when its parser takes more than 1 GiB, not by the clock', async () => {
    await using ws = await bootKernel({
      files: { 'line.js': 'f(1)\n'.repeat(2_000_000) },
      timeouts: { engine: 600_000 },
    })
    replaceAstGrep(ws.home)
    expect(await ws.call('unified_search', { action: 'outline', path: 'line.js' })).toMatchObject({
      ok: false,
      error: { code: 'VT_INPUT_TOO_LARGE', message: expect.stringContaining('memory') },
    })
  })
})

describe('unified_search: name with a newline', () => {
  it('escapes a newline of a name in the text and keeps the name unchanged in the structured answer', async () => {
    const name = 'a\nsecrets.key: 3 matches\u001b[2K\u202e.txt'
    await using ws = await bootKernel({ files: { [name]: 'alpha\n' } })
    for (const input of [
      { action: 'list' },
      { action: 'list', mode: 'tree' },
      { action: 'list', mode: 'find_content', content_pattern: 'alpha' },
      { action: 'list', mode: 'largest' },
      { action: 'grep', pattern: 'alpha' },
    ]) {
      const result = await ws.call('unified_search', input)
      if (!result.ok) throw new Error(result.error.message)
      expect(result.text).toContain('a\\u{a}secrets.key: 3 matches\\u{1b}[2K\\u{202e}.txt')
      expect(result.text!.split('\n').some((line) => line.startsWith('secrets'))).toBe(false)
      if (!('tree' in result.output)) expect(JSON.stringify(result.output)).toContain(JSON.stringify(name).slice(1, -1))
    }
  })
})

describe('unified_search: killed engine', () => {
  const code = 'export function alpha(x) {\n  return other(x)\n}\nalpha(1)\n'
  const searches: [string, 'VTCODE_AST_GREP_BIN' | 'VTCODE_RIPGREP_BIN', object][] = [
    ['structural', 'VTCODE_AST_GREP_BIN', { action: 'structural', pattern: 'alpha($A)', lang: 'javascript' }],
    [
      'structural, of a named file',
      'VTCODE_AST_GREP_BIN',
      { action: 'structural', pattern: 'alpha($A)', lang: 'javascript', path: 'large.js' },
    ],
    [
      'structural, its list of files',
      'VTCODE_RIPGREP_BIN',
      { action: 'structural', pattern: 'alpha($A)', lang: 'javascript' },
    ],
    ['outline of a folder', 'VTCODE_RIPGREP_BIN', { action: 'outline', path: '.' }],
    ['similarity', 'VTCODE_RIPGREP_BIN', { action: 'similarity', reference_file: 'b/c.js' }],
    ['files by name', 'VTCODE_RIPGREP_BIN', { action: 'list', mode: 'find_name', name_pattern: '*.js' }],
    [
      'files that hold a text',
      'VTCODE_RIPGREP_BIN',
      { action: 'list', mode: 'find_content', content_pattern: 'alpha' },
    ],
  ]
  it.each(
    searches.flatMap(([name, variable, input]) =>
      [
        ['SIGKILL', 'kill -9 $$'],
        ['SIGSEGV after a part of its answer', 'printf \'{"text":"al\'; kill -SEGV $$'],
        ['SIGABRT', 'kill -ABRT $$'],
      ].map(([how, body]) => [name, how, variable, input, body] as const),
    ),
  )('returns an error or a whole answer, never an empty one: %s, ended by %s', async (_, __, variable, input, body) => {
    await using ws = await bootKernel({ files: { 'b/c.js': code, 'd.js': code, 'large.js': code.repeat(8000) } })
    const program = join(ws.home, 'engine')
    writeFileSync(program, `#!/bin/bash\n[ "$1" = --version ] && { echo "ast-grep 0.40.0"; exit 0; }\n${body}\n`)
    chmodSync(program, 0o755)
    process.env[variable] = program
    try {
      const result = await ws.call(
        (input as { action: string }).action === 'similarity' ? 'grep_search' : 'unified_search',
        input as never,
      )
      if (!result.ok) return expect(result.error.code).toMatch(/^VT_(SEARCH|STRUCTURAL|ENGINE|CALL|OUTLINE)\w*$/)
      const { total_matches, total, files, matches } = result.output as {
        total_matches?: number
        total?: number
        files?: unknown[]
        matches?: unknown[]
      }
      expect(
        total_matches ?? total ?? files?.length ?? matches?.length,
        JSON.stringify(result).slice(0, 500),
      ).toBeGreaterThan(0)
    } finally {
      delete process.env[variable]
    }
  })
})
