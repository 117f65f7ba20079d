import { expect, it } from 'vitest'
import { bootKernel, matches } from 'vtcode/test'

it('groups ast_grep matches by file, fifty at a time', async () => {
  const files = { 'a.ts': 'log(1)\n'.repeat(30), 'b.ts': `log(2)\n`.repeat(30), 'c.ts': 'f(\n  1,\n)\n' }
  await using vt = await bootKernel({ files })
  const first = await vt.call('ast_grep', { pat: 'log($A)', paths: ['*.ts', '*.ts'] })
  matches(first, {
    ok: true,
    output: {
      matchCount: 60,
      fileCount: 2,
      limitReached: true,
      fileMatches: [
        { path: 'a.ts', count: 30 },
        { path: 'b.ts', count: 30 },
      ],
    },
  })
  const text = first.ok ? first.text! : ''
  expect(text).toMatch(/^# a\.ts\n\*1\|log\(1\)\n {2}meta: A=1\n/)
  expect(text).toMatch(/\n\n# b\.ts\n/)
  expect(text).toMatch(/\n\nResult limit reached; narrow paths or increase limit\.$/)
  const rest = await vt.call('ast_grep', { pat: 'log($A)', paths: ['.'], skip: 50 })
  expect(rest.ok && rest.text!.split('\n').filter((line) => line.startsWith('*'))).toHaveLength(10)
  matches(await vt.call('ast_grep', { pat: 'f($$$A)', paths: ['c.ts'] }), {
    ok: true,
    text: '*1|f(\n 2|  1,\n 3|)\n  meta: A=1',
  })
})

it('reads hidden files with ast_grep, counts all matches on every page and lists each unparsable file', async () => {
  const files = {
    '.hidden.ts': 'log(0)\n',
    '.gitignore': 'out/\n',
    'out/a.ts': 'log(1)\n',
    'node_modules/x/a.ts': 'log(1)\n',
    'bad.ts': 'log(1)\nconst = (\n',
    'worse.py': 'log(1)\nclass (\n',
  }
  await using vt = await bootKernel({ files })
  const all = await vt.call('ast_grep', { pat: 'log($A)', paths: ['.'], skip: 0.9 })
  matches(all, {
    ok: true,
    output: {
      matchCount: 3,
      fileCount: 3,
      files: ['.hidden.ts', 'bad.ts', 'worse.py'],
      parseErrors: ['bad.ts: syntax error', 'worse.py: syntax error'],
    },
  })
  expect(all.ok && all.text).toMatch(/\n\nParse issues:\n- bad\.ts: syntax error\n- worse\.py: syntax error$/)
  matches(await vt.call('ast_grep', { pat: 'log($A)', paths: ['.'], skip: 2 }), {
    ok: true,
    output: { matchCount: 3, fileCount: 3, limitReached: false },
    text: 're:# worse\\.py\n[\\s\\S]*',
  })
  matches(await vt.call('ast_grep', { pat: 'none($A)', paths: ['bad.ts'] }), {
    ok: true,
    text: 're:No matches found\\. Parse issues mean the query may be mis-scoped; narrow paths before concluding absence\\.\n\nParse issues:\n- bad\\.ts: syntax error',
  })
  matches(await vt.call('ast_grep', { pat: 'log($A)', paths: ['node_modules/**/*.ts'] }), {
    ok: true,
    output: { matchCount: 1 },
  })
  matches(await vt.call('ast_grep', { pat: 'log($A)', paths: ['*.ts'] }), {
    ok: true,
    output: { files: ['.hidden.ts', 'bad.ts'] },
  })
})

it('names the supported languages of ast_grep where a named file has another one', async () => {
  await using vt = await bootKernel({ files: { 'a.astro': 'log(1)\n' } })
  matches(await vt.call('ast_grep', { pat: 'log($A)', paths: ['a.astro'] }), {
    ok: false,
    error: { code: 'VT_SEARCH_LANG', message: 're:[\\s\\S]*typescript[\\s\\S]*' },
  })
})

it('explains a wrong ast_grep pattern in the words of the structural search', async () => {
  await using vt = await bootKernel({ files: { 'a.ts': 'log(1)\n' } })
  matches(await vt.call('ast_grep', { pat: 'where is the log', paths: ['a.ts'] }), {
    ok: false,
    error: {
      code: 'VT_SEARCH_PATTERN',
      next: { tool: 'unified_search', input: { action: 'grep', pattern: 'where is the log' } },
    },
  })
  matches(await vt.call('ast_grep', { pat: 'if ($A) { log( }', paths: ['.'] }), {
    ok: false,
    error: { code: 'VT_SEARCH_FRAGMENT' },
  })
})

it('refuses a bad glob of ast_grep and a header in the fields of ast_grep', async () => {
  await using vt = await bootKernel({ files: { 'a.rs': 'fn f() -> u8 { 1 }\n' } })
  const glob: any = await vt.call('ast_grep', { pat: 'x', paths: ['a.[rs'] })
  matches(glob, { ok: false, error: { code: 'VT_INPUT_INVALID', message: "re:^'paths'.*'a\\.\\[rs'[\\s\\S]*" } })
  expect(JSON.stringify(glob.error)).not.toMatch(/globs|unified_search|pattern'/)
  const header: any = await vt.call('ast_grep', { pat: 'fn $F()', paths: ['a.rs'] })
  matches(header, {
    ok: false,
    error: { code: 'VT_SEARCH_FRAGMENT', next: { tool: 'ast_grep', input: { paths: ['a.rs'] } } },
  })
  matches(await vt.call('ast_grep', header.error.next.input), { ok: true, output: { matchCount: 1 } })
})

it('states the number of matches of ast_grep after the last page', async () => {
  await using vt = await bootKernel({ files: { 'a.ts': 'log(1)\n'.repeat(3) } })
  matches(await vt.call('ast_grep', { pat: 'log($A)', paths: ['.'], skip: 3 }), {
    ok: true,
    text: 'No matches after 3; there are 3.',
    output: { matchCount: 3, limitReached: false },
  })
})

it('refuses an empty pattern, a missing file, a URL and a path outside in ast_grep', async () => {
  await using vt = await bootKernel({ files: { 'a.ts': 'log(1)\n' } })
  matches(await vt.call('ast_grep', { pat: '  ', paths: ['a.ts'] }), { ok: false, error: { code: 'VT_INPUT_INVALID' } })
  matches(await vt.call('ast_grep', { pat: 'x', paths: [' '] }), { ok: false, error: { code: 'VT_INPUT_INVALID' } })
  matches(await vt.call('ast_grep', { pat: 'x', paths: ['gone.ts'] }), {
    ok: false,
    error: { code: 'VT_PATH_NOT_FOUND' },
  })
  matches(await vt.call('ast_grep', { pat: 'x', paths: ['https://a/b'] }), {
    ok: false,
    error: { code: 'VT_INPUT_INVALID' },
  })
  matches(await vt.call('ast_grep', { pat: 'x', paths: ['../..'] }), { ok: false, error: { code: 'VT_PATH_OUTSIDE' } })
})

it('returns the hash of each ast_grep file when anchors are on, and an edit accepts it until the file changes', async () => {
  await using vt = await bootKernel({
    files: { 'a.ts': 'f(\n  1,\n)\n' },
    config: { plugins: { settings: { 'builtin:ast_grep': { options: { anchors: 'hash' } } } } },
  })
  const result = await vt.call('ast_grep', { pat: 'f($$$A)', paths: ['a.ts'] })
  matches(result, { ok: true, text: 're:¶a\\.ts#\\S+\n\\*1:f\\(\n 2:  1,\n 3:\\)\n  meta: [\\s\\S]*' })
  const [, expected_hash] = /#(\S+)/.exec(result.ok ? result.text! : '')!
  matches(await vt.call('unified_file', { action: 'edit', path: 'a.ts', old_str: '1', new_str: '2', expected_hash }), {
    ok: true,
  })
  matches(await vt.call('unified_file', { action: 'edit', path: 'a.ts', old_str: '2', new_str: '3', expected_hash }), {
    ok: false,
    error: { code: 'VT_FILE_STALE' },
  })
})

it('searches the file of a loaded skill with ast_grep and refuses other URLs', async () => {
  const files = {
    '.vtcode/skills/one/SKILL.md': '---\nname: one\ndescription: One.\n---\nDo.\n',
    '.vtcode/skills/one/lib.ts': 'log(1)\n',
    'a.ts': 'log(2)\n',
  }
  await using vt = await bootKernel({ files })
  const ask = (path: string) => vt.call('ast_grep', { pat: 'log($A)', paths: [path] })
  matches(await ask('skill://one/lib.ts'), {
    ok: false,
    error: { code: 'VT_INPUT_INVALID', hint: 're:.*load_skill.*' },
  })
  await vt.call('load_skill', { name: 'one' })
  matches(await ask('skill://one/lib.ts'), { ok: true, text: '*1|log(1)\n  meta: A=1' })
  for (const path of [
    'skill://one/gone.ts',
    'skill://one/*.ts',
    'skill://one/../../../a.ts',
    'skill://two/x',
    'local://x',
  ])
    matches(await ask(path), { ok: false, error: { code: 'VT_INPUT_INVALID' } })
})
