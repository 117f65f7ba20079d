import { expect, it } from 'vitest'
import { bootKernel, matches } from 'vtcode/test'

it('routes former tool names to their actions and lists none of them', async () => {
  await using vt = await bootKernel({ files: { 'a.txt': 'one\n' } })
  matches(await vt.call('grep_file', { pattern: 'one' }), { ok: true, output: { matches: [{ file: 'a.txt' }] } })
  matches(await vt.call('copy_file', { path: 'a.txt', destination: 'b.txt' }), { ok: true })
  matches(await vt.call('move_file', { path: 'b.txt', destination: 'c.txt' }), { ok: true })
  matches(await vt.call('delete_file', { path: 'c.txt' }), { ok: true })
  matches(await vt.call('bash', { command: 'echo x' }), { ok: true, output: { stdout: 'x\n' } })
  matches(await vt.call('exec_command', { command: 'echo x' }), { ok: true })
  matches(await vt.call('run_pty_cmd', { command: 'test -t 1 && echo tty' }), {
    ok: true,
    output: { output: 're:tty\\s*' },
  })
  matches(await vt.call('execute_code', { language: 'javascript', code: 'console.log(1)' }), { ok: true })
  matches(await vt.call('write_stdin', { session_id: 'run-00000000', input: 'x' }), {
    ok: false,
    error: { code: 'VT_EXEC_SESSION' },
  })
  matches(await vt.call('fetch_url', { url: 'file:///etc/passwd' }), { ok: false, error: { code: 'VT_WEB_URL' } })
  matches(await vt.call('grep', { pattern: 'one' }), { ok: true, output: { matches: [{ file: 'a.txt' }] } })
  for (const name of ['web_fetch', 'defuddle', 'extract_markdown'])
    matches(await vt.call(name, { url: 'file:///etc/passwd' }), { ok: false, error: { code: 'VT_WEB_URL' } })
  matches(await vt.call('search_web', {}), { ok: false, error: { code: 'VT_INPUT_MISSING', message: 're:.*query.*' } })
  matches(await vt.call('no_such_name', {}), { ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
  const names = vt.kernel.tools().map(({ name }) => name)
  for (const name of [
    'grep_file',
    'grep',
    'bash',
    'run_pty_cmd',
    'write_stdin',
    'web_fetch',
    'search_web',
    'defuddle',
    'extract_markdown',
  ])
    expect(names).not.toContain(name)
})
