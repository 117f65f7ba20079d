import { spawn, type ChildProcess } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../support/program.js'
import { samplePoints } from '../../support/sample.js'

// Before the commit a cancel stops a change, after it the answer is what the change came to. In between there is nothing.

const count = 120
const names = Array.from({ length: count }, (_, index) => `f${index}.txt`)
const files = Object.fromEntries(names.map((name) => [name, 'old\n']))
const patch = `*** Begin Patch\n${names.map((name) => `*** Update File: ${name}\n@@\n-old\n+new\n`).join('')}*** End Patch\n`
const states = (root: string) => [...new Set(names.map((name) => readFileSync(join(root, name), 'utf8')))]

describe('cancelled patch of 120 files', () => {
  it('answers VT_CALL_ABORTED only if no file changed, and a success if all files changed', async () => {
    const outcomes = new Set<string>()
    for (const ms of samplePoints([0, 1, 3, 6, 10, 15, 25, 40, 60, 100], 5)) {
      await using booted = await bootKernel({ files: { ...files, other: 'x' } })
      const cancel = new AbortController()
      const pending = booted.call('apply_patch', { input: patch }, { signal: cancel.signal })
      setTimeout(() => cancel.abort(), ms)
      const result = await pending
      // A later call for one of the files waits for the running change.
      expect(
        await booted.call('unified_file', { action: 'copy', path: 'f7.txt', destination: 'copied' }),
      ).toMatchObject({ ok: true })
      if (result.ok) expect(states(booted.root)).toEqual(['new\n'])
      else {
        expect(result).toMatchObject({ error: { code: 'VT_CALL_ABORTED', details: { not_applied: true } } })
        expect(states(booted.root)).toEqual(['old\n'])
      }
      outcomes.add(result.ok ? 'done' : 'aborted')
    }
    expect(outcomes.has('aborted')).toBe(true)
  })

  it('prints the true outcome of a cancelled patch on the command line', async () => {
    await using made = await tempWorkspace(files)
    const child = spawn(
      process.execPath,
      [bin, '--workspace', made.root, '--mode', 'auto', 'call', 'apply_patch', '--input', '-'],
      { env: surroundings(made), stdio: ['pipe', 'pipe', 'ignore'] },
    )
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    child.stdin.end(JSON.stringify({ input: patch }))
    await expect.poll(() => existsSync(join(made.root, '.vtcode/journal')), { interval: 5 }).toBe(true)
    child.kill('SIGINT')
    await new Promise((resolve) => child.once('close', resolve))
    const result = JSON.parse(out) as { ok: boolean }
    expect(states(made.root)).toEqual([result.ok ? 'new\n' : 'old\n'])
    expect(readdirSync(join(made.root, '.vtcode/history/main'))).toHaveLength(result.ok ? 1 : 0)
    expect(readdirSync(join(made.root, '.vtcode/journal')).filter((name) => name !== '.gitignore')).toEqual([])
  })

  it('changes all files or none over MCP, and none after the answer to the next call', async () => {
    const outcomes = new Set<string>()
    for (const ms of samplePoints([0, 5, 20, 60, 150, 400], 3)) {
      await using made = await tempWorkspace(files)
      const client = new Client({ name: 'cancels', version: '1' })
      const transport = new StdioClientTransport({
        command: process.execPath,
        args: [bin, '--workspace', made.root, '--mode', 'auto', 'mcp'],
        env: surroundings(made) as Record<string, string>,
        stderr: 'ignore',
      })
      await client.connect(transport)
      try {
        const copy = (destination: string) =>
          client.callTool({ name: 'unified_file', arguments: { action: 'copy', path: 'f7.txt', destination } })
        expect((await copy('before')).isError).not.toBe(true)
        const cancel = new AbortController()
        const send = transport.send.bind(transport)
        const { stdin } = (transport as unknown as { _process: ChildProcess })._process
        // The first call and its cancellation arrive together: after two writes a loaded machine may have finished it.
        transport.send = async (message) => {
          const isFirst = ms === 0 && JSON.stringify(message).includes('*** Begin Patch')
          if (isFirst) stdin!.cork()
          const sent = send(message)
          if (!isFirst) return sent
          cancel.abort()
          setImmediate(() => stdin!.uncork())
          return sent
        }
        const pending = client
          .callTool({ name: 'apply_patch', arguments: { input: patch } }, { signal: cancel.signal })
          .then(
            ({ isError }) => (isError ? 'refused' : 'done'),
            () => 'cancelled',
          )
        if (ms > 0) setTimeout(() => cancel.abort(), ms)
        const outcome = await pending
        expect((await copy('copied')).isError).not.toBe(true)
        const then = states(made.root)
        expect([outcome, then.length]).toEqual([outcome, 1])
        if (outcome !== 'cancelled') expect(then).toEqual([outcome === 'done' ? 'new\n' : 'old\n'])
        // Another program finds nothing that it would have to complete.
        expect(await vtcode(made, ['undo', '--list'])).toMatchObject({ code: 0 })
        expect(states(made.root)).toEqual(then)
        outcomes.add(`${outcome} ${then[0]!.trim()}`)
      } finally {
        await client.close()
      }
    }
    expect(outcomes.has('cancelled old')).toBe(true)
  })
})

describe('cancelled command', () => {
  const command = 'echo begun > begun; sleep 30'
  it('reports a command cancelled after its start as interrupted, not as not applied', async () => {
    await using booted = await bootKernel()
    const cancel = new AbortController()
    const pending = booted.call(
      'unified_exec',
      { action: 'run', command },
      { signal: cancel.signal, approve: () => true },
    )
    await expect.poll(() => existsSync(join(booted.root, 'begun')), { interval: 20 }).toBe(true)
    cancel.abort()
    const result = await pending
    expect(result).toMatchObject({
      ok: false,
      error: {
        code: 'VT_CALL_INTERRUPTED',
        retryable: false,
        hint: expect.stringContaining('Check the changes before you continue'),
      },
    })
    expect(result).not.toMatchObject({ error: { details: { not_applied: true } } })
  })

  it('reports a command interrupted by SIGINT on the command line as interrupted', async () => {
    await using made = await tempWorkspace({})
    const child = spawn(
      process.execPath,
      [
        bin,
        '--workspace',
        made.root,
        '-c',
        'policy.allow=["Bash(*)"]',
        '--mode',
        'full-auto',
        'call',
        'unified_exec',
        'run',
        '--command',
        command,
      ],
      { env: surroundings(made), stdio: ['ignore', 'pipe', 'ignore'] },
    )
    let out = ''
    child.stdout.on('data', (chunk: Buffer) => (out += chunk.toString()))
    const closed = new Promise((resolve) => child.once('close', resolve))
    await expect.poll(() => existsSync(join(made.root, 'begun')) || out !== '', { interval: 20 }).toBe(true)
    child.kill('SIGINT')
    await closed
    expect(JSON.parse(out)).toMatchObject({ ok: false, error: { code: 'VT_CALL_INTERRUPTED' } })
  })
})

it('leaves a file of 30 MB unchanged when its edit is cancelled before the commit', async () => {
  const half = 'x'.repeat(15_000_000)
  await using booted = await bootKernel({ files: { big: `${half}\nmiddle\n${half}\n` } })
  for (const ms of [1, 20, 60]) {
    const before = readFileSync(join(booted.root, 'big'))
    const cancel = new AbortController()
    const pending = booted.call(
      'unified_file',
      { action: 'edit', path: 'big', old_str: 'middle', new_str: `middle${ms}` },
      { signal: cancel.signal },
    )
    setTimeout(() => cancel.abort(), ms)
    const result = await pending
    expect(
      await booted.call('unified_file', { action: 'copy', path: 'big', destination: `copied${ms}` }),
    ).toMatchObject({ ok: true })
    expect(readFileSync(join(booted.root, 'big')).equals(before)).toBe(!result.ok)
    if (result.ok) break
  }
})

describe('time limit of a plugin', () => {
  let plugins: TempWorkspace
  let booted: Booted
  beforeAll(async () => {
    const manifest = (name: string) =>
      `name: ${name}\ndescription: A test.\neffects: [write]\ntimeout_secs: 1\nmodule: ./${name}.js\n`
    const code = (body: string) => `import { ok } from 'vtcode'
      const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms))
      export default async (call, { workspace }) => { ${body} }`
    plugins = await tempWorkspace({
      'late.yaml': manifest('late'),
      'late.js': code(
        `await pause(1300); await workspace.write('late', Buffer.from('x'), 'nothing').catch((error) => (globalThis.lateError = error.code))`,
      ),
      'begun.yaml': manifest('begun'),
      'begun.js': code(
        `await workspace.write('begun', Buffer.from('x'), 'nothing'); await pause(1300); await workspace.write('begun2', Buffer.from('x'), 'nothing'); return ok({ written: 2 })`,
      ),
      'stuck.yaml': manifest('stuck'),
      'stuck.js': code(`await workspace.write('stuck', Buffer.from('x'), 'nothing'); await new Promise(() => {})`),
    })
    booted = await bootKernel({ manifests: [plugins.root], timeouts: { commit: 3000 } })
  })
  afterAll(async () => {
    await booted[Symbol.asyncDispose]()
    await plugins[Symbol.asyncDispose]()
  })

  it('refuses a write by a plugin whose time is over', async () => {
    expect(await booted.call('late')).toMatchObject({ ok: false, error: { code: 'VT_CALL_TIMEOUT' } })
    await expect.poll(() => (globalThis as { lateError?: string }).lateError).toBe('VT_CALL_ABORTED')
    expect(existsSync(join(booted.root, 'late'))).toBe(false)
  })
  it('waits for a plugin that wrote before its time was over', async () => {
    expect(await booted.call('begun')).toMatchObject({ ok: true, output: { written: 2 } })
    const cancel = new AbortController()
    const pending = booted.call('stuck', {}, { signal: cancel.signal })
    await expect.poll(() => existsSync(join(booted.root, 'stuck')), { interval: 10 }).toBe(true)
    await pause(50)
    cancel.abort()
    expect(await pending).toMatchObject({
      ok: false,
      error: {
        code: 'VT_CALL_TIMEOUT',
        retryable: false,
        hint: expect.stringContaining('Check the result before you call again'),
      },
    })
  })
})
