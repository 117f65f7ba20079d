import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { call, home, startPeer, vtcode } from '../../support/peer.js'

// Built from parts, so that no scanner reports this file as a leak.
const letters = (count: number): string => 'aB3'.repeat(count).slice(0, count)
const secrets = {
  person: `ghp_${letters(36)}`,
  queue: `npm_${letters(36)}`,
  model: `glpat-${letters(24)}`,
  reasoning: `sk-ant-api03-${letters(40)}`,
  arguments: `AKIA${'ABCD1234'.repeat(2)}`,
  server: `xoxb-${letters(30)}`,
  instructions: `AIza${letters(35)}`,
}
const server = fileURLToPath(new URL('../../fixtures/mcp/server.mjs', import.meta.url))

/** All files below a folder. */
const listFiles = (folder: string): string[] =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name))

it('keeps no secret of a person, a model, a server or an instruction in any record or export', async () => {
  const peer = hold(
    await startPeer([
      {
        content: `I use ${secrets.model}.`,
        reasoning: `The key is ${secrets.reasoning}.`,
        toolCalls: [
          call('unified_file', { action: 'write', path: 'key.txt', content: `${secrets.arguments}\n` }),
          call('mcp__s__echo', { text: `again ${secrets.model}` }),
        ],
      },
      { content: `Wrote ${secrets.arguments} with ${secrets.model}.` },
      { content: `Queued: ${secrets.queue}.` },
      { content: 'And done.' },
    ]),
  )
  const tools = [
    { name: 'echo', description: `Echoes. Token ${secrets.server}.`, inputSchema: { type: 'object' } },
    { name: `t-${secrets.server}`, description: 'Bad name.', inputSchema: { type: 'object' } },
  ]
  const place = hold(
    await home(
      peer,
      { 'AGENTS.md': `Use ${secrets.instructions}.\n`, 'server/tools.json': JSON.stringify(tools) },
      {
        settings: {
          telemetry: { atif_enabled: true },
          agent: { model: 'peer/m', open_responses: { enabled: true } },
          sandbox: { mode: 'off' },
        },
      },
    ),
  )
  const config = join(place.home, '.vtcode/vtcode.config.json')
  const settings = JSON.parse(readFileSync(config, 'utf8'))
  const command = { command: process.execPath, args: [server, join(place.root, 'server')] }
  writeFileSync(
    config,
    JSON.stringify({ ...settings, mcp: { servers: { s: command } }, policy: { allow: ['mcp__s'] } }),
  )
  const outputs: Record<string, string> = {}
  const run = async (name: string, ...args: string[]): Promise<void> => {
    const { out, err, code } = await vtcode(place, args)
    outputs[name] = out + err
    expect([name, code, outputs[name]!.length > 0]).toEqual([name, 0, true])
  }
  await run('exec', 'exec', '--json', '--deltas', '--mode', 'auto', `Use ${secrets.person} for it.`)
  // The call itself ran as the model wrote it.
  expect(await place.read('key.txt')).toBe(`${secrets.arguments}\n`)
  const [{ session_id: id }] = JSON.parse((await vtcode(place, ['sessions', 'list', '--json'])).out)
  await run('ask', 'ask', `And ${secrets.queue}?`)
  await run('resume', 'resume', id, `Again ${secrets.person}.`)
  await run('rename', 'sessions', 'rename', id, `about ${secrets.person}`).catch(() => {})
  await run('list', 'sessions', 'list', '--json')
  await run('show', 'sessions', 'show', id)
  for (const format of ['atif', 'open-responses']) await run(`export ${format}`, 'export', format, id)
  await run('export otel', 'export', 'otel', id, '--content')
  await run('export folder', 'export', 'folder', id, '--out', 'kept')
  await run('outline', 'trace', id, '--format', 'text', '--full')
  await run('page', 'trace', id, '--full', '--out', 'page.html')
  await run('servers', 'tools', '--json')
  outputs['requests after a resume'] = JSON.stringify(peer.bodies.at(-1))

  const own = [join(place.root, '.vtcode'), join(place.home, '.vtcode'), join(place.root, 'kept')]
  const files = [...own.flatMap(listFiles), join(place.root, 'page.html')]
  const names = files.map((file) => relative(place.root, file))
  for (const kind of [
    'events.jsonl',
    'messages.jsonl',
    'memory.json',
    'manifest.json',
    'calls.jsonl',
    '/prompts/',
    '/mcp/',
    'atif',
  ])
    expect([kind, names.some((name) => name.includes(kind))]).toEqual([kind, true])
  for (const [at, file] of files.entries()) outputs[names[at]!] = readFileSync(file, 'latin1')
  const found = Object.entries(outputs).flatMap(([name, text]) =>
    Object.entries(secrets).flatMap(([kind, secret]) =>
      text.includes(secret) || text.includes(secret.slice(0, 20)) ? [`${kind} in ${name}`] : [],
    ),
  )
  expect(found).toEqual([])
  expect(existsSync(join(place.root, 'kept/events.jsonl'))).toBe(true)
  expect(outputs['exec']).toContain('[redacted:github_token]')
})
