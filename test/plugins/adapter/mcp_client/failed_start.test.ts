import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { fileURLToPath } from 'node:url'
import type { Config } from 'vtcode'
import { bootKernel, matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../../support/program.js'

// Servers that never answer, never close, spin or answer too late; each one writes its process id to `pids`.
const server = fileURLToPath(new URL('../../../fixtures/mcp/endless.mjs', import.meta.url))
const far_too_long_ms = 25_000

/** Returns the command of such a server. A shell writes the process id before Node has started. */
const noted = (...args: string[]) => ({
  command: '/bin/sh',
  args: [
    '-c',
    'echo $$ >> "$1/pids"; exec "$0" "$2" "$1" "$3" "$4"',
    process.execPath,
    args[0]!,
    server,
    args[1]!,
    args[2] ?? '500',
  ],
})

/** A workspace whose user has configured such servers: one named `s`, or several named after what they do. */
async function place(
  how: string | readonly string[],
  more: object = {},
): Promise<TempWorkspace & { pids: () => Promise<number[]>; starts: () => Promise<number> }> {
  const made = await tempWorkspace({ 'a.txt': 'one\n' })
  const named: (readonly [name: string, how: string])[] =
    typeof how === 'string' ? [['s', how]] : how.map((one) => [one, one])
  const servers = Object.fromEntries(
    named.map(([name, one]) => [name, { ...noted(made.home, one), startup_timeout_secs: 60, ...more }]),
  )
  await mkdir(join(made.home, '.vtcode'), { recursive: true })
  await writeFile(
    join(made.home, '.vtcode/vtcode.config.json'),
    JSON.stringify({ mcp: { servers }, ...(how === 'late' && { policy: { allow: ['mcp__s__echo'] } }) }),
  )
  const pids = async (): Promise<number[]> =>
    (await readFile(join(made.home, 'pids'), 'utf8').catch(() => '')).split('\n').filter(Boolean).map(Number)
  return Object.assign(made, { pids, starts: async () => (await pids()).length })
}
const lives = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
const children: ChildProcess[] = []
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
})
function served(workspace: TempWorkspace): ChildProcess & { over: Promise<unknown[]> } {
  const child = spawn(process.execPath, [bin, 'mcp'], {
    cwd: workspace.root,
    env: surroundings(workspace),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  children.push(child)
  return Object.assign(child, { over: once(child, 'close') })
}
const hello = `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 't', version: '1' } } })}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n`
const listing = '{"jsonrpc":"2.0","id":2,"method":"tools/list"}\n'
const within = async <T>(ms: number, work: Promise<T>): Promise<T | 'late'> => {
  let timer: NodeJS.Timeout
  const late = new Promise<'late'>((resolve) => (timer = setTimeout(() => resolve('late'), ms)))
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}

const kinds = ['silent', 'spinning', 'unlisted', 'stubborn'] as const

describe(`mcp client: servers that are ${kinds.join(', ')}`, () => {
  it('starts no silent server for a call of a built-in tool', async () => {
    await using made = await place(kinds)
    const ran = await within(far_too_long_ms, vtcode(made, ['call', 'unified_search', 'list']))
    expect(ran).toMatchObject({ code: 0, stderr: '' })
    expect(await made.starts()).toBe(0)
  })

  it('gives up on silent servers after `startup_timeout_secs` and ends their processes', async () => {
    await using made = await place(kinds)
    const servers = Object.fromEntries(kinds.map((how) => [how, { ...noted(made.home, how), startup_timeout_secs: 1 }]))
    await using vt = await bootKernel({ config: { mcp: { servers } } as Config })
    const given = vt.kernel
      .diagnostics()
      .filter(({ code }) => code === 'VT_MCP_START')
      .map(({ message }) => message)
    expect(given).toHaveLength(kinds.length)
    for (const how of kinds) expect(given).toContainEqual(expect.stringMatching(new RegExp(`${how}.*within 1 s`)))
    for (const pid of await made.pids()) expect(lives(pid)).toBe(false)
    expect(await made.starts()).toBe(kinds.length)
  })

  it.each(['stdin', 'SIGTERM'] as const)(
    'keeps `vtcode mcp` alive no longer than its %s and ends silent servers with it',
    async (end) => {
      await using made = await place(kinds)
      const child = served(made)
      let out = ''
      child.stdout!.on('data', (chunk: Buffer) => (out += chunk.toString()))
      child.stdin!.write(hello + listing)
      await expect.poll(() => made.starts(), { timeout: far_too_long_ms }).toBe(kinds.length)
      if (end === 'stdin') child.stdin!.end()
      else child.kill(end)
      expect(await within(far_too_long_ms, child.over)).not.toBe('late')
      expect(out).toContain('"id":1')
      for (const pid of await made.pids()) await expect.poll(() => lives(pid)).toBe(false)
      // A normal end records no failure.
      expect(await vtcode(made, ['call', 'unified_search', 'list'])).toMatchObject({ code: 0, stderr: '' })
    },
  )
})

describe('mcp client: server that fails to start', () => {
  it('reports a server that fails to start once, remembers it for a while and names it in `vtcode doctor`', async () => {
    await using made = await place('silent', { startup_timeout_secs: 1 })
    const first = await vtcode(made, ['call', 'mcp__s__echo'])
    expect(first).toMatchObject({
      code: 1,
      stdout: expect.stringContaining('VT_TOOL_UNKNOWN'),
      stderr: expect.stringContaining('within 1 s'),
    })
    expect(await made.starts()).toBe(1)
    expect(await vtcode(made, ['call', 'unified_search', 'list'])).toMatchObject({ code: 0, stderr: '' })
    // A call of one of its tools gets the reason; the server is not started again so soon.
    expect(await vtcode(made, ['call', 'mcp__s__echo'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('within 1 s'),
    })
    expect(await made.starts()).toBe(1)
    expect(await vtcode(made, ['doctor'])).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/VT_MCP_START.*user:s.*within 1 s/),
    })
    // Listing the tools starts the server again.
    await vtcode(made, ['tools'])
    expect(await made.starts()).toBe(2)
  })
  it('reports a server that fails to start at most once to later calls of other tools', async () => {
    await using made = await place('silent', { startup_timeout_secs: 1 })
    const child = served(made)
    child.stdin!.write(hello)
    await expect
      .poll(async () => (await vtcode(made, ['doctor'])).code, { timeout: far_too_long_ms, interval: 500 })
      .toBe(1)
    child.stdin!.end()
    await child.over
    const said = [
      await vtcode(made, ['call', 'unified_search', 'list']),
      await vtcode(made, ['call', 'unified_search', 'list']),
    ].map(({ stderr }) => stderr.includes('within 1 s'))
    expect(said.filter(Boolean).length).toBeLessThanOrEqual(1)
    expect(said[1]).toBe(false)
  })
})

it('ignores a server that answers after its deadline', async () => {
  await using made = await place('late')
  const s = { ...noted(made.home, 'late', '2000'), startup_timeout_secs: 1 }
  await using vt = await bootKernel({ config: { mcp: { servers: { s } } } as Config })
  await new Promise((resolve) => setTimeout(resolve, 1_500))
  expect(vt.kernel.list().filter(({ slot }) => slot.startsWith('mcp__'))).toEqual([])
  matches(
    vt.kernel.inspection.contributions().find(({ id }) => id === 'call:s'),
    { state: 'invalid' },
  )
})

it('waits for a slow server in a call of its tool and in the list of `vtcode mcp`', async () => {
  await using made = await place('late')
  const { code, stdout } = await vtcode(made, ['call', 'mcp__s__echo'])
  expect([code, stdout]).toEqual([0, expect.stringContaining('"ok":true')])
  await using other = await place('late')
  const child = served(other)
  const listed = new Promise<string>((resolve) => {
    let out = ''
    child.stdout!.on('data', (chunk: Buffer) => /"id":2/.test((out += chunk.toString())) && resolve(out))
  })
  child.stdin!.write(hello + listing)
  expect(await listed).toContain('mcp__s__echo')
  child.stdin!.end()
  await child.over
})

it('ends a command that waits for servers on SIGTERM', async () => {
  await using made = await place('stubborn')
  const child = spawn(process.execPath, [bin, 'tools'], { cwd: made.root, env: surroundings(made), stdio: 'ignore' })
  children.push(child)
  const over = once(child, 'close')
  await expect.poll(() => made.starts(), { timeout: far_too_long_ms }).toBe(1)
  child.kill('SIGTERM')
  expect(await within(far_too_long_ms, over)).toEqual([130, null])
  for (const pid of await made.pids()) await expect.poll(() => lives(pid)).toBe(false)
})
