import { expect, it } from 'vitest'
import { join } from 'node:path'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { vtcode } from '../../../support/program.js'

const server = (
  schema: object,
): string => `const tool = { name: 'look', description: 'Looks.', inputSchema: ${JSON.stringify(schema)} }
const answers = { initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }, 'tools/list': { tools: [tool] } }
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const result = method === 'tools/call' ? { content: [{ type: 'text', text: JSON.stringify(params.arguments) }] } : answers[method]
  if (id !== undefined) console.log(JSON.stringify(result ? { jsonrpc: '2.0', id, result } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } }))
})
`
const schema = { type: 'object', required: ['words'], properties: { words: { type: 'integer', maximum: 10 } } }
const manifest = (file: string, more = ''): string =>
  `name: count_words\ndescription: Counts.\neffects: [read]\nmcp: { server: { command: node, args: [${JSON.stringify(file)}] }, tool: look }\n${more}`
const call = async (made: TempWorkspace, ...words: string[]) => {
  const { stdout, stderr } = await vtcode(made, ['-c', 'policy.allow=["count_words"]', 'call', 'count_words', ...words])
  return {
    ...(JSON.parse(stdout) as { ok: boolean; text?: string; error?: { code: string; message: string } }),
    stderr,
  }
}

it('takes the input schema of a server for a tool that a manifest renames, and validates, runs and allows it', async () => {
  await using made = await tempWorkspace({ 'p/server.cjs': server(schema) })
  const file = join(made.root, 'p/server.cjs')
  await made.write(
    'p/vtcode.yaml',
    manifest(
      file,
      'examples: [{ input: { words: 3 }, expect: { text_includes: \'"words":3\' } }, { input: { wrds: 3 }, invalid: true }, { input: {}, invalid: true }]\n',
    ),
  )
  // The input is unknown without the server.
  const still = await vtcode(made, ['plugins', 'validate', 'p', '--json'])
  expect(JSON.parse(still.stdout)).toMatchObject({
    contributions: [{ id: 'p:count_words', errors: [], examples: { not_run: 3 } }],
  })
  const run = await vtcode(made, ['plugins', 'validate', 'p', '--run', '--json'])
  expect(JSON.parse(run.stdout)).toMatchObject({
    contributions: [{ id: 'p:count_words', errors: [], examples: { passed: 3, failed: 0 } }],
  })
  const added = await vtcode(made, ['plugins', 'add', 'p', '--yes'])
  expect([added.code, added.stderr]).toEqual([
    0,
    expect.stringMatching(/p:count_words {2}count_words {2}\[read\]\n {4}starts the server/),
  ])
  expect(await call(made, '--words', '4')).toEqual({
    ok: true,
    output: expect.anything(),
    text: '{"words":4}',
    stderr: '',
  })
  expect(await call(made, '--wrds', '4')).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_UNKNOWN', message: expect.stringContaining('did you mean words?') },
  })
  expect(await call(made, '--words', 'x')).toMatchObject({
    ok: false,
    error: { code: 'VT_INPUT_INVALID', message: expect.stringContaining('integer') },
  })
  expect(await call(made)).toMatchObject({ ok: false, error: { message: expect.stringContaining('words') } })
  const { tools } = JSON.parse((await vtcode(made, ['tools', 'count_words'])).stdout)
  expect(tools).toMatchObject([
    {
      slot: 'count_words',
      description: 'Counts.',
      effects: ['read'],
      input: { required: ['words'], properties: { words: { type: 'integer', maximum: 10 } } },
    },
  ])
})

it('reports a tool that the server does not have and keeps an input that the manifest declares', async () => {
  await using made = await tempWorkspace({ 'p/server.cjs': server(schema) })
  const file = join(made.root, 'p/server.cjs')
  await made.write('p/vtcode/count_words.yaml', manifest(file).replace('tool: look', 'tool: lok'))
  await made.write(
    'p/vtcode/narrow.yaml',
    manifest(file, 'input: { required: [words], properties: { words: { type: integer, maximum: 2 } } }\n').replace(
      'count_words',
      'narrow',
    ),
  )
  expect((await vtcode(made, ['plugins', 'add', 'p', '--yes'])).code).toBe(0)
  expect(await call(made, '--words', '4')).toMatchObject({ ok: false })
  expect((await vtcode(made, ['doctor'])).stdout).toMatch(/'?lok'?.*is not offered/)
  expect(
    JSON.parse((await vtcode(made, ['-c', 'policy.allow=["narrow"]', 'call', 'narrow', '--words', '2'])).stdout),
  ).toMatchObject({ ok: true, text: expect.stringContaining('"words":2') })
})
