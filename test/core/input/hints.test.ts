import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { vtcode } from '../../support/program.js'

let ws: Booted
beforeAll(async () => {
  ws = await bootKernel({
    files: { 'a.txt': 'foo\n', 'p.py': 'f(1)\n', 'q.sql': 'select 1\n', 'notes/b.txt': 'foo\n' },
    config: { sandbox: { mode: 'off' } },
  })
})
afterAll(() => ws[Symbol.asyncDispose]())

const search = (input: object) => ws.call('unified_search', input)
const list = (path: string, more: object = {}) => ({ tool: 'unified_search', input: { action: 'list', path, ...more } })

it.each([
  ['a grep', { action: 'grep', pattern: 'x' }],
  ['an outline', { action: 'outline' }],
  ['a structural search', { action: 'structural', pattern: 'f($A)', lang: 'ts' }],
  ['a list', { action: 'list' }],
])('offers the nearest directory as next call when %s gets a missing path', async (_, input) => {
  expect(await search({ ...input, path: 'notes/gone/x' })).toMatchObject({
    ok: false,
    error: { code: 'VT_PATH_NOT_FOUND', next: list('notes') },
  })
})

it.each([
  ['a read', 'unified_file', { action: 'read', path: 'folder/a.txt' }],
  ['an edit', 'unified_file', { action: 'edit', path: 'folder/a.txt', old_str: 'a', new_str: 'b' }],
  ['a grep', 'unified_search', { action: 'grep', pattern: 'x', path: 'folder' }],
  ['a list', 'unified_search', { action: 'list', path: 'folder' }],
  ['an outline', 'unified_search', { action: 'outline', path: 'folder' }],
  ['a structural search', 'unified_search', { action: 'structural', pattern: 'f($A)', lang: 'ts', path: 'folder' }],
  ['a working folder', 'unified_exec', { action: 'run', command: 'true', workdir: 'folder' }],
])('names the link that leads to nothing when %s goes through it', async (_, tool, input) => {
  await using linked = await bootKernel({ config: { sandbox: { mode: 'off' } } })
  symlinkSync('gone', join(linked.root, 'folder'))
  expect(await linked.call(tool, input)).toMatchObject({
    ok: false,
    error: {
      code: 'VT_PATH_NOT_FOUND',
      message: expect.stringMatching(/does not exist: 'folder' is a link to 'gone', which does not exist\.$/),
    },
  })
})

it('answers a hidden path with a slash at its end alike, whether it is a file or not', async () => {
  await using hiding = await bootKernel({
    files: { 'a.env': 'x' },
    config: { policy: { deny: ['Read(*.env)', 'Edit(*.env)'] } },
  })
  const answer = async (action: string, path: string, more = {}) => {
    const result: any = await hiding.call('unified_file', { action, path, ...more })
    return [result.error.code, result.error.message.replaceAll(path.slice(0, 5), 'x.env')]
  }
  const read = await answer('read', 'a.env/')
  expect(read).toEqual(['VT_POLICY_DENIED', expect.any(String)])
  expect(await answer('read', 'b.env/')).toEqual(read)
  const more = { content: 'x' }
  expect(await answer('write', 'a.env/', more)).toEqual(await answer('write', 'b.env/', more))
})

it('hides the target of a link that leads to nothing outside', async () => {
  await using linked = await bootKernel()
  symlinkSync('/nowhere/secret', join(linked.root, 'out'))
  const result: any = await linked.call('unified_file', { action: 'read', path: 'out' })
  expect(result.error).toMatchObject({ code: 'VT_PATH_OUTSIDE' })
  expect(JSON.stringify(result)).not.toContain('secret')
})

it('reports a page after the last one and offers the last page', async () => {
  expect(await search({ action: 'list', page: 7, max_results: 2 })).toMatchObject({
    ok: true,
    output: {
      items: [],
      message: 'Page 7 is past the last of 2 pages (4 entries).',
      next: { tool: 'unified_search', input: { action: 'list', max_results: 2, page: 2 } },
    },
    text: 'Page 7 is past the last of 2 pages (4 entries).',
  })
})

it('reports an unsupported language for an outline instead of no symbols', async () => {
  expect(await search({ action: 'outline', path: 'q.sql' })).toMatchObject({
    ok: true,
    text: 'No engine here outlines q.sql',
    notices: [{ code: 'VT_OUTLINE_UNSUPPORTED', message: 'No outline for: q.sql (unknown). Use grep there.' }],
  })
  expect(await search({ action: 'outline', path: 'notes' })).toMatchObject({
    ok: true,
    text: 'No file of a known language in notes',
  })
})

it('greps for the query of a deprecated call instead of listing', async () => {
  expect(await search({ action: 'intelligence', query: 'foo' })).toMatchObject({
    ok: true,
    output: { total_matches: 2 },
    notices: [{ code: 'VT_ACTION_DEPRECATED' }],
  })
})

it.each([
  ['unified_exec', { action: 'run', command: [] }, "'command' is []; needed: string, or array that is not empty."],
  [
    'unified_exec',
    { action: 'run', command: 'true', yield_time_ms: 100 },
    "'yield_time_ms' is 100; needed: 0, or 250 to 30000.",
  ],
  [
    'unified_exec',
    { action: 'run', command: 'true', timeout_ms: 5 },
    "Unknown property 'timeout_ms' (did you mean timeout_secs?)",
  ],
  [
    'unified_search',
    { action: 'grep', pattern: 'x', type: 'ts' },
    "'type' belongs to unified_search/outline, not to unified_search/grep.",
  ],
  ['unified_file', { action: 'read', path: 'a.txt', offset: 9 }, "Line 9 is past the end: 'a.txt' has 1 line."],
])('explains in plain words what is wrong when %s gets %j', async (tool, input, message) => {
  expect(await ws.call(tool, input)).toMatchObject({ ok: false, error: { message: expect.stringContaining(message) } })
})

it('ends the sentence about a change not made with a call or an instruction', async () => {
  const said = async (tool: string, input: object) => ((await ws.call(tool, input)) as any).error.details.say
  expect(await said('unified_file', { action: 'write', path: 'new.txt' })).toContain(
    'next action: call unified_file {"action":"write"',
  )
  expect(await said('unified_file', { action: 'write', path: 'a.txt', content: 'x' })).toContain(
    'next action: give mode: "overwrite" to replace all of it',
  )
})

it('ranks tool names that end with a wrong name first', async () => {
  expect(await ws.call('read', {})).toMatchObject({
    ok: false,
    error: { code: 'VT_TOOL_UNKNOWN', message: expect.stringMatching(/nearest: unified_file_read,/) },
  })
})

it.each([
  ['unified_search', { action: 'grep', pattern: 'a\0b' }],
  ['unified_search', { action: 'grep', patterns: ['x', 'a\0b'] }],
  ['unified_search', { action: 'list', mode: 'find_content', content_pattern: 'a\0b' }],
  ['unified_search', { action: 'structural', pattern: 'a\0b' }],
  ['unified_search', { action: 'structural', kind: 'a\0b', lang: 'py' }],
  [
    'unified_search',
    { action: 'structural', workflow: 'rewrite', pattern: 'f($A)', rewrite: 'a\0b', lang: 'py', path: 'p.py' },
  ],
  ['ast_grep', { pat: 'a\0b', paths: ['.'] }],
])('refuses a NUL character in the input of %s: %j', async (tool, input) => {
  expect(await ws.call(tool, input)).toMatchObject({
    ok: false,
    error: {
      code: 'VT_INPUT_INVALID',
      message: expect.stringMatching(/NUL character, which no program accepts\.$/),
      hint: 'Remove the NUL character.',
    },
  })
})

it('explains what to give for an input that is a bare text or a tool that calls itself', async () => {
  expect(await ws.call('unified_search', 'grep')).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_INVALID', hint: 'Give an object with an "action" and its fields.' },
  })
  expect(await ws.call('call_tool', { tool: 'call_tool', input: {} })).toMatchObject({
    ok: false,
    error: { code: 'VT_TOOL_UNKNOWN', message: 'call_tool cannot call itself.', hint: 'Name another tool.' },
  })
})

it('names the command, or else the called tool, in the message of a policy', async () => {
  await using asked = await bootKernel({ mode: 'auto', config: { sandbox: { mode: 'off' } } })
  const cases: [tool: string, input: object, message: string][] = [
    ['run_terminal_cmd', { command: 'npm test' }, 'Mode auto needs approval to run `npm test` ('],
    ['unified_exec', { action: 'run', command: 'npm test' }, 'Mode auto needs approval to run `npm test` ('],
    [
      'unified_exec',
      { action: 'code', language: 'node', code: '1' },
      'Mode auto needs approval to use unified_exec/code.',
    ],
  ]
  for (const [tool, input, message] of cases)
    expect(await asked.call(tool, input)).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_NEEDS_APPROVAL', message: expect.stringContaining(message) },
    })
})

it('rejects a flag of `vtcode call` without its value, except for a boolean field', async () => {
  const forgotten = await vtcode(ws, ['call', 'unified_search', 'grep', '--pattern'])
  expect([forgotten.code, forgotten.stderr]).toEqual([
    2,
    expect.stringContaining('--pattern needs a value; to give the text "true", write --pattern=true.'),
  ])
  expect((await vtcode(ws, ['call', 'unified_search', 'grep', '--pattern', 'foo', '--literal'])).code).toBe(0)
  expect((await vtcode(ws, ['call', 'unified_search', 'grep', '--pattern=true'])).code).toBe(0)
})
