import { readdirSync, readFileSync } from 'node:fs'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { serve } from '../../support/server.js'
import { bin, surroundings } from '../../support/program.js'

const soak = process.env['VTCODE_SOAK'] !== undefined
const rounds = soak ? 60_000 : 400
/** Calls in flight at once: 12 reads, 4 searches, an edit, a command and 2 pages of each 20. */
const flight = 1_000
const lines = 5_000

const open = (pid: number) => readdirSync(`/proc/${pid}/fd`).length
const resident = (pid: number) => Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1]) / 1024

/** Least squares: megabytes a call. */
function slope(seen: readonly { call: number; mb: number }[]): number {
  const mean = (values: number[]) => values.reduce((sum, value) => sum + value, 0) / values.length
  const [calls, mbs] = [mean(seen.map(({ call }) => call)), mean(seen.map(({ mb }) => mb))]
  return (
    seen.reduce((sum, { call, mb }) => sum + (call - calls) * (mb - mbs), 0) /
    seen.reduce((sum, { call }) => sum + (call - calls) ** 2, 0)
  )
}

it(`answers ${rounds} mixed calls, some cancelled and some wrong, without growing`, async () => {
  const text = Array.from({ length: lines }, (_, line) => `line ${line}`).join('\n')
  await using made = await tempWorkspace({ 'a.txt': text, 'b.txt': 'counted 0\n' })
  const client = new Client({ name: 'test', version: '1' })
  const transport = new StdioClientTransport({
    command: process.execPath,
    args: [bin, 'mcp'],
    cwd: made.root,
    env: surroundings(made),
  })
  await client.connect(transport)
  const pid = transport.pid!
  const call = (tool: string, input: object, signal?: AbortSignal) =>
    client.callTool({ name: tool, arguments: { ...input } }, signal ? { signal } : {})
  const kinds = [
    (i: number) => call('unified_file', { action: 'read', path: 'a.txt', offset: (i % lines) + 1, limit: 5 }),
    (i: number) => call('unified_search', { action: 'grep', pattern: `line ${i % lines}$`, path: 'a.txt' }),
    (i: number) =>
      call('unified_file', { action: 'write', path: 'b.txt', content: `counted ${i}\n`, mode: 'overwrite' }),
    (i: number) => call('unified_search', { action: 'list', path: '.', mode: 'find_name', name_pattern: `*${i}*` }),
    (i: number) => call('unified_file', { action: 'read', path: `missing-${i}.txt` }),
    (i: number) => {
      const stop = new AbortController()
      const reading = call('unified_search', { action: 'grep', pattern: `l.*${i}`, path: '.' }, stop.signal)
      stop.abort()
      return reading.catch(() => ({ isError: true }))
    },
    (i: number) =>
      client
        .callTool(
          { name: 'unified_search', arguments: { action: 'grep', pattern: `.*${i}.*`, path: '.' } },
          { timeout: 1 },
        )
        .catch(() => ({ isError: true })),
  ]
  // Most calls are reads, as with a model.
  const pick = (i: number) => kinds[i % 20 < 13 ? 0 : (i % 20) - 13]!(i)
  const seen: { call: number; fds: number; mb: number }[] = []
  let failures = 0
  for (let i = 0; i < rounds; i += 10) {
    if (i >= rounds / 4 && i % (rounds / 20) === 0) seen.push({ call: i, fds: open(pid), mb: resident(pid) })
    const answers = await Promise.all(Array.from({ length: 10 }, (_, more) => pick(i + more)))
    failures += answers.filter((answer) => answer.isError).length
  }
  await client.close()
  // Only missing files, cancelled calls and timeouts fail, one in twenty each. A very quick call may be in time.
  expect(failures).toBeGreaterThan((rounds / 20) * 2 - 1)
  expect(failures).toBeLessThanOrEqual((rounds / 20) * 3)
  expect(Math.max(...seen.map(({ fds }) => fds)) - seen[0]!.fds).toBeLessThanOrEqual(4)
  expect(seen.at(-1)!.fds - seen[0]!.fds).toBeLessThanOrEqual(2)
  expect(seen.at(-1)!.mb - seen[0]!.mb).toBeLessThan(40)
  if (soak) console.log({ rounds, kilobytes_per_1000_calls: slope(seen) * 1024 * 1000, seen })
}, 1_800_000)

it('settles 1,000 concurrent mixed calls, each with its own answer, and delays no read for a hanging call', async () => {
  const files = Object.fromEntries(Array.from({ length: flight / 20 }, (_, i) => [`e${i}.txt`, `old ${i}\n`]))
  await using made = await tempWorkspace({ ...files, 'a.txt': 'a line\n' })
  await using page = await serve((_, response) => response.end('<p>a page</p>'))
  const client = new Client({ name: 'test', version: '1' })
  const flags = [
    '--mode',
    'full-auto',
    '-c',
    'automation.full_auto={"enabled":true,"allowed_tools":["read","write","exec","net"]}',
    '-c',
    'web.private_hosts=["127.0.0.1"]',
    '-c',
    'tools.max_repeated_tool_calls=0',
  ]
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: [bin, ...flags, 'mcp', '--structured'],
      cwd: made.root,
      env: surroundings(made),
    }),
  )
  const call = async (tool: string, input: object) => {
    const { structuredContent, isError } = await client.callTool(
      { name: tool, arguments: { ...input } },
      { timeout: 300_000 },
    )
    return isError ? { failed: structuredContent } : (structuredContent as Record<string, unknown>)
  }
  // A named pipe without a writer, and commands that wait, represent a disk and programs that hang.
  await call('unified_exec', { action: 'run', command: 'mkfifo stuck' })
  const stop = new AbortController()
  const hanging = Array.from({ length: 4 }, () =>
    client
      .callTool(
        { name: 'unified_exec', arguments: { action: 'run', command: 'cat stuck' } },
        { signal: stop.signal, timeout: 300_000 },
      )
      .catch(() => undefined),
  )
  const order: number[] = []
  const reads = Array.from({ length: flight * 0.6 }, (_, i) =>
    call('unified_file', { action: 'read', path: 'a.txt', page_size_lines: i + 1 }).then(
      (output) => (order.push(i), output),
    ),
  )
  const searches = Array.from({ length: flight * 0.2 }, (_, i) =>
    call('unified_search', { action: 'grep', pattern: i % 2 ? 'a line' : `none ${i}`, path: 'a.txt' }),
  )
  const edits = Array.from({ length: flight / 20 }, (_, i) =>
    call('unified_file', { action: 'edit', path: `e${i}.txt`, old_str: `old ${i}`, new_str: `new ${i}` }),
  )
  // On a busy machine a command may still run when its answer comes.
  const ran = async (output: Record<string, unknown>): Promise<Record<string, unknown>> =>
    output['running']
      ? ran({ ...(await call('unified_exec', { action: 'poll', session_id: output['session_id'], cursor: 0 })) })
      : output
  const runs = Array.from({ length: flight / 20 }, (_, i) =>
    call('unified_exec', { action: 'run', command: `echo ${i}` }).then(ran),
  )
  const pages = Array.from({ length: flight / 10 }, (_, i) =>
    call('unified_search', { action: 'web', url: `${page.url}/${i}` }),
  )
  for (const output of await Promise.all(reads)) expect(output).toMatchObject({ content: 'a line\n' })
  // First come, first served, as far as answers may overtake each other on the way.
  expect(order.slice(0, flight / 10).every((i) => i < flight * 0.4)).toBe(true)
  ;(await Promise.all(searches)).forEach((output, i) => expect(output).toMatchObject({ total_matches: i % 2 }))
  ;(await Promise.all(edits)).forEach((output) => expect(output).toMatchObject({ replacements: 1 }))
  for (let i = 0; i < flight / 20; i++) expect(await made.read(`e${i}.txt`)).toBe(`new ${i}\n`)
  ;(await Promise.all(runs)).forEach((output, i) =>
    'failed' in output
      ? expect(output).toMatchObject({ failed: { error: { code: 'VT_EXEC_LIMIT' } } })
      : expect(output).toMatchObject({ stdout: expect.stringContaining(`${i}`) }),
  )
  for (const output of await Promise.all(pages)) expect(output).not.toHaveProperty('failed')
  stop.abort()
  await Promise.all(hanging)
  await client.close()
}, 600_000)
