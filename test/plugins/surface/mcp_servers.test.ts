import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

const server = `import { createInterface } from 'node:readline'
createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  const results = {
    initialize: { protocolVersion: params?.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } },
    'tools/list': { tools: [{ name: 'greet', description: 'Greets.', inputSchema: { type: 'object' } }] },
  }
  if (id !== undefined) console.log(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
})
`

describe('vtcode mcp add, list, test and remove', () => {
  it('adds a command, lists it, shows its tools, and removes it again', async () => {
    await using place = await tempWorkspace({ 'server.mjs': server })
    const run = (...words: string[]) => vtcode(place, ['mcp', ...words])
    expect(await run('add', 'greeter', '--', 'node', join(place.root, 'server.mjs'))).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/\+ +greeter:[^]*Try it: vtcode mcp test greeter\n$/),
    })
    expect((await run('list')).stdout).toMatch(/^greeter {2}node \S+server\.mjs/)
    expect(await run('test', 'greeter')).toMatchObject({
      code: 0,
      stdout: expect.stringMatching(/^greeter answers with 1 tool:\n {2}\S*greet\S*\n$/),
    })
    expect(await run('remove', 'greeter')).toMatchObject({ code: 0 })
    expect(await run('list')).toMatchObject({ code: 0, stdout: '', stderr: expect.stringContaining('No servers') })
  })

  it('adds an address, and names what is wrong with an entry', async () => {
    await using place = await tempWorkspace()
    const run = (...words: string[]) => vtcode(place, ['mcp', ...words])
    expect((await run('add', 'web', 'https://example.org/mcp')).code).toBe(0)
    expect(readFileSync(join(place.home, '.vtcode/vtcode.config.yaml'), 'utf8')).toContain(
      'url: https://example.org/mcp',
    )
    for (const [words, wrong] of [
      [['add', 'web', 'https://example.org'], "The server 'web' exists"],
      [['add', '9', 'https://example.org'], "Invalid name '9'"],
      [['add', 'a.b', 'https://example.org'], "Invalid name 'a.b'"],
      [['add', 'other'], 'Give the address of the server'],
      [['add', 'other', 'ftp://example.org'], 'Give the address of the server'],
      [['add', 'other', '--'], 'Give the address of the server'],
      [['remove', 'wbe'], "Unknown server 'wbe' (did you mean web?)"],
      [['test', 'e\u001b[2J'], "Invalid name 'e\\u{1b}[2J'"],
      [['list', 'x'], "'x' has no place here"],
    ] as const)
      expect([words, await run(...words)]).toEqual([
        words,
        expect.objectContaining({ code: 2, stderr: expect.stringContaining(wrong) }),
      ])
  })

  it('names the failure of a server that does not start', async () => {
    await using place = await tempWorkspace()
    await vtcode(place, ['mcp', 'add', 'gone', '--', 'no-such-program-here'])
    expect(await vtcode(place, ['mcp', 'test', 'gone'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/gone: .*cannot be started/),
    })
  })

  it('refuses a change by a program that vtcode started', async () => {
    await using place = await tempWorkspace()
    for (const words of [
      ['mcp', 'add', 'web', 'https://example.org'],
      ['config', 'set', 'policy.mode', 'full-auto'],
      ['config', 'unset', 'policy.mode'],
    ])
      expect(await vtcode(place, words, { env: { VTCODE: '1' } })).toMatchObject({
        code: 1,
        stderr: expect.stringContaining('Trust is not granted from a program that vtcode started.'),
      })
  })
})

describe('vtcode config set and unset', () => {
  it('changes a value of the user or of the workspace and keeps the rest', async () => {
    await using place = await tempWorkspace({ 'vtcode.config.yaml': '# ours\nweb:\n  private_hosts: []\n' })
    const run = (...words: string[]) => vtcode(place, ['config', ...words])
    expect((await run('set', 'policy.mode', 'auto')).stdout).toContain('+   mode: auto')
    expect((await run('get', 'policy.mode')).stdout).toBe('"auto"\n')
    expect((await run('set', 'policy.allow', '["Bash(npm test)"]')).code).toBe(0)
    expect((await run('set', 'policy.mode', 'auto')).stderr).toContain('policy.mode is unchanged')
    expect((await run('unset', 'policy.mode')).stdout).toContain('-   mode: auto')
    expect(readFileSync(join(place.home, '.vtcode/vtcode.config.yaml'), 'utf8')).toContain('Bash(npm test)')
    expect((await run('set', '--project', 'policy.mode', 'plan')).code).toBe(0)
    expect(readFileSync(join(place.root, 'vtcode.config.yaml'), 'utf8')).toMatch(/^# ours\n[^]*mode: plan/)
  })

  it('writes no invalid value, and names the field and the allowed values', async () => {
    await using place = await tempWorkspace()
    for (const [key, value, wrong] of [
      ['policy.mode', 'wild', "'policy.mode' is 'wild'; allowed: plan, ask, auto, full-auto"],
      ['polcy.mode', 'auto', "Unknown key 'polcy'; did you mean 'policy'?"],
    ] as const)
      expect(await vtcode(place, ['config', 'set', key, value])).toMatchObject({
        code: 3,
        stdout: '',
        stderr: expect.stringContaining(wrong),
      })
    expect((await vtcode(place, ['config', 'path'])).stdout).toBe('')
  })
})
