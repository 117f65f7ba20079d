import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { CallOptions, PreparedCall } from 'vtcode'
import { bootKernel, tempWorkspace, type Boot, type Booted } from 'vtcode/test'

const manifests = {
  'spawn.yaml': `name: spawn
action: crew/spawn
description: Begins a helper.
effects: [read]
audience: agent
module: ./crew.js
input: {}
`,
  'crew.js': 'export default () => ({ ok: true, output: { done: true } })\n',
  'passing.yaml': `name: passing
description: Calls.
effects: [read]
module: ./passing.js
input: { properties: { tool: { type: string }, input: { type: object } } }
`,
  'passing.js': `export default async ({ input }, { host, call }) => {
    const prepared = await host.resolve(input.tool, input.input)
    const narrowed = await call(prepared, { only: { tools: ['passing'] } })
    return { ok: true, output: { slot: prepared.slot.slot, result: await call(prepared), narrowed } }
  }\n`,
}

async function boot(how: Boot = {}): Promise<Booted> {
  const place = await tempWorkspace(manifests)
  const booted = await bootKernel({ files: { 'a.txt': 'one\n' }, manifests: [place.root], ...how })
  const dispose = async () => {
    await booted[Symbol.asyncDispose]()
    await place[Symbol.asyncDispose]()
  }
  return { ...booted, [Symbol.asyncDispose]: dispose }
}

/** An input that counts how often its path is read. */
function countingInput(path: string): { input: object; reads: () => number } {
  let count = 0
  const input = {
    action: 'read',
    get path() {
      return (count++, path)
    },
  }
  return { input, reads: () => count }
}

describe('PreparedCall', () => {
  let booted: Booted
  beforeAll(async () => {
    booted = await boot()
  })
  afterAll(() => booted[Symbol.asyncDispose]())
  const prepare = async (tool: string, input: object): Promise<PreparedCall> =>
    (await booted.kernel.resolve(tool, input))!

  it('answers like a call by name and resolves only once', async () => {
    const { input, reads } = countingInput('a.txt')
    const prepared = await prepare('Unified-File', input)
    const before = reads()
    const byName = await booted.call('unified_file', { action: 'read', path: 'a.txt' })
    expect(await booted.kernel.call(prepared)).toEqual(byName)
    const { call } = await booted.kernel.explain(prepared)
    expect(call).toMatchObject({ slot: 'unified_file/read', input: { path: 'a.txt' } })
    expect(reads()).toBe(before)
  })

  it('keeps the input with which the call was prepared', async () => {
    const input = { action: 'read', path: 'a.txt' }
    const prepared = await prepare('unified_file', input)
    input.path = 'b.txt'
    expect(await booted.kernel.call(prepared)).toMatchObject({ ok: true, output: { path: 'a.txt' } })
    expect(() => Object.assign(prepared, { slot: {} })).toThrow(TypeError)
  })

  it('checks schema, rights, mode and policies with each call', async () => {
    const write = await prepare('write_file', { path: 'new.txt', content: 'x' })
    const unknown = await prepare('unified_file', { strange: 1, path: 'a' })
    const outside = await prepare('read_file', { path: '../a' })
    const codeOf = async (...call: [PreparedCall, CallOptions?]) => {
      const result = await booted.kernel.call(...call)
      return result.ok ? 'ok' : result.error.code
    }
    expect(await codeOf(write, { mode: 'plan' })).toBe('VT_POLICY_DENIED')
    expect(await codeOf(write, { only: { tools: ['unified_file/read'] } })).toBe('VT_POLICY_DENIED')
    expect(await codeOf(unknown)).toBe('VT_INPUT_UNKNOWN')
    expect(await codeOf(outside)).toBe('VT_PATH_OUTSIDE')
    expect(await codeOf(write, { mode: 'full-auto' })).toBe('ok')
  })

  it('gives a tool of an audience to callers of that audience alone', async () => {
    for (const tool of ['crew', 'crew_spawn', 'call_tool']) {
      const prepared = await prepare(tool, tool === 'call_tool' ? { tool: 'crew/spawn' } : { action: 'spawn' })
      expect(await booted.kernel.call(prepared), tool).toMatchObject({ ok: false, error: { code: 'VT_AGENT_NONE' } })
      expect(await booted.kernel.explain(prepared), tool).toMatchObject({ verdict: 'refused' })
      expect(await booted.kernel.call(prepared, { audiences: ['agent'] }), tool).toMatchObject({ ok: true })
    }
  })

  it('refuses a prepared call that was forged from its parts', async () => {
    const prepared = await prepare('unified_file', { action: 'read', path: 'a.txt' })
    const Class = prepared.constructor as new (...parts: unknown[]) => PreparedCall
    const target = { slot: { info: prepared.slot, primary: { manifest: {} } }, raw: { path: '../outside' } }
    const made = new Class({ tool: 'nothing', sent: {}, registry: { slots: new Map() }, target }, [], {})
    for (const forged of [
      { ...prepared },
      structuredClone({ ...prepared }),
      Object.create(prepared) as PreparedCall,
      made,
    ]) {
      const result = await booted.kernel.call(forged)
      expect(result).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
    }
  })

  it('resolves a prepared call again after a reload, and fails if its tool is gone', async () => {
    await using place = await tempWorkspace(manifests)
    await using other = await bootKernel({ files: { 'a.txt': 'one\n' }, manifests: [place.root] })
    const { input, reads } = countingInput('a.txt')
    const read = (await other.kernel.resolve('unified_file', input))!
    const passing = (await other.kernel.resolve('passing'))!
    const before = reads()
    rmSync(join(place.root, 'passing.yaml'))
    writeFileSync(join(other.root, 'a.txt'), 'two\n')
    expect((await other.kernel.reload()).ok).toBe(true)
    expect(await other.kernel.call(read)).toMatchObject({ ok: true, output: { content: 'two\n' } })
    expect(reads()).toBeGreaterThan(before)
    expect(await other.kernel.call(passing)).toMatchObject({ ok: false, error: { code: 'VT_TOOL_UNKNOWN' } })
  })

  it.each(['inline', 'process'] as const)(
    'passes from host.resolve to context.call in a plugin isolated as %s',
    async (isolate) => {
      await using other = await boot({ config: { plugins: { isolate } } })
      const result = await other.call('passing', { tool: 'unified_file', input: { action: 'read', path: 'a.txt' } })
      const refused = { ok: false, error: { code: 'VT_POLICY_DENIED' } }
      const answered = { ok: true, output: { path: 'a.txt' } }
      const output = { slot: 'unified_file/read', result: answered, narrowed: refused }
      expect(result).toMatchObject({ ok: true, output })
    },
  )
})
