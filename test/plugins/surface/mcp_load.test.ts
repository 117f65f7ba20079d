import { readdirSync, readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, surroundings } from './program.js'

const soak = process.env['VTCODE_SOAK'] !== undefined
const rounds = soak ? 60_000 : 2_000
const lines = 5_000

const open = (pid: number) => readdirSync(`/proc/${pid}/fd`).length
const resident = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

it(`answers ${rounds} mixed calls, some cancelled and some wrong, and is no larger for it`, async () => {
  const text = Array.from({ length: lines }, (_, line) => `line ${line}`).join('\n')
  await using made = await tempWorkspace({ 'a.txt': text, 'b.txt': 'counted 0\n' })
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({ command: process.execPath, args: [bin, 'mcp'], cwd: made.root, env: surroundings(made) })
  await client.connect(transport)
  const pid = transport.pid!
  const call = (tool: string, input: object, signal?: AbortSignal) => client.callTool({ name: tool, arguments: { ...input } }, signal ? { signal } : {})
  const kinds = [
    (i: number) => call('unified_file', { action: 'read', path: 'a.txt', offset: (i % lines) + 1, limit: 5 }),
    (i: number) => call('unified_search', { action: 'grep', pattern: `line ${i % lines}$`, path: 'a.txt' }),
    (i: number) => call('unified_file', { action: 'write', path: 'b.txt', content: `counted ${i}\n`, mode: 'overwrite' }),
    (i: number) => call('unified_search', { action: 'list', path: '.', mode: 'find_name', name_pattern: `*${i}*` }),
    (i: number) => call('unified_file', { action: 'read', path: `missing-${i}.txt` }),
    (i: number) => {
      const stop = new AbortController()
      const reading = call('unified_search', { action: 'grep', pattern: `l.*${i}`, path: '.' }, stop.signal)
      stop.abort()
      return reading.catch(() => ({ isError: true }))
    },
  ]
  // Most calls are reads, as with a model.
  const pick = (i: number) => kinds[i % 20 < 14 ? 0 : (i % 20) - 14]!(i)
  let before = { fds: 0, mb: 0 }
  let failures = 0
  for (let i = 0; i < rounds; i += 10) {
    if (i === rounds / 4) before = { fds: open(pid), mb: resident(pid) }
    const answers = await Promise.all(Array.from({ length: 10 }, (_, more) => pick(i + more)))
    failures += answers.filter((answer) => answer.isError).length
  }
  const after = { fds: open(pid), mb: resident(pid) }
  await client.close()
  // The missing files and the cancelled, one in twenty each, and nothing else.
  expect(failures).toBe(rounds / 10)
  expect(after.fds - before.fds).toBeLessThanOrEqual(2)
  expect(after.mb - before.mb).toBeLessThan(40)
  if (soak) console.log({ rounds, before, after })
}, 1_800_000)
