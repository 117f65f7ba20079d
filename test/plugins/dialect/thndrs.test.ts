import { expect, it } from 'vitest'
import { bootKernel, fixtureW, matches } from 'vtcode/test'

it('lists, creates, patches and runs in its own words', async () => {
  await using vt = await bootKernel({ files: fixtureW() })
  matches(await vt.call('list_searchable_files', { glob: '*.md' }), { ok: true, output: { files: ['README.md'], total: 1, truncated: false }, text: 'README.md' })
  matches(await vt.call('create_file', { path: 'new.txt', content: 'x' }), { ok: true, output: { path: 'new.txt', created: true } })
  matches(await vt.call('write_patch', { op: 'replace', path: 'new.txt', content: 'yy' }), { ok: true })
  matches(await vt.call('write_patch', { op: 'edit', path: 'new.txt', old_string: 'yy', new_string: 'z' }), { ok: true })
  expect(await vt.read('new.txt')).toBe('z')
  matches(await vt.call('read_file_range', { path: 'src/lib.py', start_line: 5, end_line: 2 }), { ok: false, error: { code: 'VT_INPUT_INVALID' } })
  matches(await vt.call('run_shell', { program: 'sh', args: ['-c', 'exit 3'] }), { ok: true, output: { status: 'exited', exit_code: 3 } })
})
