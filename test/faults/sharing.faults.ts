import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { rounds } from '../support/exec.js'
import { scene, Server } from './process.js'

const lines = Array.from({ length: 100 }, (_, line) => `line ${line}.\n`)
const edit = (line: number) => ({ action: 'edit', path: 'f', old_str: `line ${line}.`, new_str: `LINE ${line}.` })

describe('100 concurrent edits of one file', () => {
  it('keeps all 100 edits made through one server', async () => {
    const stage = scene({ f: lines.join('') })
    const server = await Server.start(stage)
    const results = await Promise.all(lines.map((_, line) => server.call(['unified_file', edit(line)])))
    expect(results.filter((result) => !result?.ok)).toEqual([])
    expect(stage.text('f')).toBe(lines.join('').toUpperCase())
    await server.end()
    stage.remove()
  })

  it('keeps each edit made through two servers, or refuses it as stale and accepts its retry', async () => {
    const stage = scene({ f: lines.join('') })
    const servers = [await Server.start(stage), await Server.start(stage)]
    const outcomes = await Promise.all(
      lines.map(async (_, line) => (await servers[line % 2]!.call(['unified_file', edit(line)]))!),
    )
    const refused = outcomes.flatMap((result, line) => (result.ok ? [] : [{ line, code: result.error.code }]))
    expect(refused.filter(({ code }) => code !== 'VT_FILE_STALE')).toEqual([])
    const expected = lines.map((line, index) => (outcomes[index]!.ok ? line.toUpperCase() : line)).join('')
    expect(stage.text('f')).toBe(expected)
    for (const { line } of refused) {
      await servers[line % 2]!.call(['unified_file', { action: 'read', path: 'f' }])
      expect(await servers[line % 2]!.call(['unified_file', edit(line)])).toMatchObject({ ok: true })
    }
    expect(stage.text('f')).toBe(lines.join('').toUpperCase())
    for (const server of servers) await server.end()
    stage.remove()
  })
})

describe('a directory swapped for a link', () => {
  it('lets no change out of the workspace while a directory is swapped for a link, whichever tool makes it', async () => {
    const stage = scene({ 'real/a': 'a\n' })
    const outside = join(stage.home, 'outside')
    mkdirSync(outside)
    writeFileSync(join(outside, 'secret'), 'secret')
    symlinkSync(outside, join(stage.root, 'fake'))
    const server = await Server.start(stage)
    const swap = join(import.meta.dirname, '../fixtures/swap.py')
    const attacker = spawn('python3', [swap, join(stage.root, 'real'), join(stage.root, 'fake')])
    await once(attacker.stdout, 'data')
    const outcomes = new Map<string, number>()
    const end = Date.now() + rounds(4000, 20_000)
    for (let i = 0; Date.now() < end; i++) {
      const calls = [
        ['unified_file', { action: 'write', path: `real/w${i % 20}`, content: `${i}`, mode: 'overwrite' }],
        ['unified_file', { action: 'write', path: `real/deep${i % 20}/w`, content: `${i}`, mode: 'overwrite' }],
        ['unified_file', { action: 'edit', path: 'real/secret', old_str: 'secret', new_str: 'known' }],
        ['unified_file', { action: 'read', path: 'real/secret' }],
        ['unified_file', { action: 'copy', path: `warm/a`, destination: `real/c${i % 20}`, overwrite: true }],
        [
          'unified_file',
          { action: 'move', path: `real/c${(i + 10) % 20}`, destination: `real/m${i % 20}`, overwrite: true },
        ],
        ['unified_file', { action: 'delete', path: 'real/secret', force: true }],
        [
          'apply_patch',
          { input: `*** Begin Patch\n*** Add File: real/p${i}\n+p\n*** Add File: real/q/${i}\n+q\n*** End Patch` },
        ],
      ] as const
      for (const [index, call] of calls.entries()) {
        const result = await server.call([...call])
        const outcome = result?.ok ? 'ok' : 'refused'
        // A file that is only outside is never found.
        if (index === 2 || index === 3) expect(outcome).toBe('refused')
        outcomes.set(outcome, (outcomes.get(outcome) ?? 0) + 1)
      }
    }
    attacker.stdin.end()
    await once(attacker, 'exit')
    await server.end()
    expect(readdirSync(outside)).toEqual(['secret'])
    expect([...outcomes.keys()].sort()).toEqual(['ok', 'refused'])
    stage.remove()
  })
})
