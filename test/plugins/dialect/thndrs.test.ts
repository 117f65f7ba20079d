import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bootKernel, fixtureW, matches } from 'vtcode/test'

it('lists, creates, patches and runs in the thndrs dialect', async () => {
  await using vt = await bootKernel({ files: fixtureW() })
  matches(await vt.call('list_searchable_files', { glob: '*.md' }), {
    ok: true,
    output: { files: ['README.md'], total: 1, truncated: false },
    text: 'README.md',
  })
  matches(await vt.call('create_file', { path: 'new.txt', content: 'x' }), {
    ok: true,
    output: { path: 'new.txt', created: true },
  })
  matches(await vt.call('write_patch', { op: 'replace', path: 'new.txt', content: 'yy' }), { ok: true })
  matches(await vt.call('write_patch', { op: 'edit', path: 'new.txt', old_string: 'yy', new_string: 'z' }), {
    ok: true,
  })
  expect(await vt.read('new.txt')).toBe('z')
  matches(await vt.call('read_file_range', { path: 'src/lib.py', start_line: 5, end_line: 2 }), {
    ok: false,
    error: { code: 'VT_INPUT_INVALID' },
  })
  matches(await vt.call('run_shell', { program: 'sh', args: ['-c', 'exit 3'] }), {
    ok: true,
    output: { status: 'exited', exit_code: 3 },
  })
})

it('finds files and text in the thndrs dialect, hidden ones and links only when asked', async () => {
  await using vt = await bootKernel({
    files: { 'a.ts': 'one\ntwo\nthree\n', 'b.md': 'two\n', 'deep/er/c.ts': 'four\n', '.hid/d.ts': 'two\n' },
  })
  await symlink('deep', join(vt.root, 'link'))
  const found = async (input: object) => {
    const result = await vt.call('find_files', { pattern: '*.ts', ...input })
    return result.ok ? result.output['files'] : result.error
  }
  expect(await found({})).toEqual(['a.ts', 'deep/er/c.ts'])
  expect(await found({ max_depth: 1 })).toEqual(['a.ts'])
  expect(await found({ include_hidden: true })).toContain('.hid/d.ts')
  expect(await found({ glob: 'deep/**' })).toEqual(['deep/er/c.ts'])
  expect(await found({ pattern: '*', extensions: ['md'] })).toEqual(['b.md'])
  expect(await found({ follow_symlinks: true })).toContain('link/er/c.ts')
  matches(await vt.call('search_text', { pattern: 't.o', context_lines: 1, extensions: ['ts'] }), {
    ok: true,
    output: { matches: [{ file: 'a.ts', line_number: 2, text: 'two' }], total: 1, truncated: false },
    text: 'a.ts-1-one\na.ts:2:two\na.ts-3-three',
  })
  matches(await vt.call('search_text', { pattern: 'o', context_lines: 1, glob: 'a.ts' }), {
    ok: true,
    text: 'a.ts:1:one\na.ts:2:two\na.ts-3-three',
  })
  matches(await vt.call('search_text', { pattern: 'nowhere' }), { ok: true, output: { matches: [], total: 0 } })
  matches(await vt.call('read_file_range', { path: 'a.ts', start_line: 2, end_line: 2 }), {
    ok: true,
    output: { content: 'two\n', start_line: 2, end_line: 2, total_lines: 3 },
  })
  for (const tool of ['read_file_range', 'create_file'])
    matches(
      await vt.call(tool, {
        path: '../x',
        start_line: 1,
        ...(tool === 'create_file' ? { content: '', start_line: undefined } : {}),
      }),
      { ok: false, error: { code: 'VT_PATH_OUTSIDE' } },
    )
})

it('replaces exactly one place, changes nothing on failure and runs programs without a shell (thndrs)', async () => {
  await using vt = await bootKernel({ files: { 'a.txt': 'x x\n' } })
  matches(await vt.call('replace_range', { path: 'a.txt', old_string: 'x', new_string: 'y' }), {
    ok: false,
    error: { code: 'VT_EDIT_NOT_UNIQUE' },
  })
  matches(await vt.call('replace_range', { path: 'a.txt', old_string: 'z', new_string: 'y' }), {
    ok: false,
    error: { code: 'VT_EDIT_NOT_FOUND' },
  })
  expect(await vt.read('a.txt')).toBe('x x\n')
  matches(await vt.call('replace_range', { path: 'a.txt', old_string: 'x x', new_string: 'y' }), {
    ok: true,
    output: { path: 'a.txt', replacements: 1 },
  })
  matches(await vt.call('run_shell', { program: 'printf', args: ['%s', '$HOME;|'] }), {
    ok: true,
    output: { stdout: '$HOME;|', status: 'exited' },
  })
  matches(await vt.call('run_shell', { program: 'sleep', args: ['5'], timeout_secs: 1 }), {
    ok: true,
    output: { status: 'timed_out' },
  })
  matches(await vt.call('run_shell', { program: 'sleep', args: ['5'], background: true }), {
    ok: true,
    output: { status: 'running', session_id: 're:run-.*' },
  })
  matches(await vt.call('web_search', {}), { ok: false, error: { code: 'VT_INPUT_MISSING' } })
})
