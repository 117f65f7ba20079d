import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { hold, items, scene } from '../../../support/inside.js'
import { call, home, startPeer, vtcode } from '../../../support/peer.js'

/** One command under each kind of name that the kernel takes. */
const commands: [name: string, input: object][] = [
  ['unified_exec_run', { command: 'true' }],
  ['functions.unified_exec', { action: 'run', command: 'true' }],
  ['Unified_Exec', { command: 'true' }],
  ['run_shell', { program: 'true' }],
  ['run_terminal_cmd', { command: ['true'] }],
  ['execute_code', { code: 'x = 1' }],
]
const full = {
  mode: 'full-auto' as const,
  config: { automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net'] } } } as never,
}

/** Makes a store in memory that records its steps. */
function noted(log: string[]): object {
  const files = new Map<string, string>()
  const append = async (name: string, line: string) => {
    files.set(name, (files.get(name) ?? '') + line)
    if (name === 'messages.jsonl' && line.includes('"call_start"')) log.push('begun')
  }
  const none = async () => {}
  return {
    mark: () => '',
    append,
    sync: async () => void log.push('synced'),
    roll: none,
    write: none,
    read: async (name: string) => files.get(name),
    archive: async (name: string) => name,
    cut: none,
    close: none,
  }
}

/** Returns whether the log line exists; a file is created before its text is written. */
const written = (place: { root: string }): boolean =>
  existsSync(join(place.root, 'log.txt')) && readFileSync(join(place.root, 'log.txt'), 'utf8').endsWith('\n')

describe('commands under any name', () => {
  it.each(commands)(
    'treats %s as a command that starts programs: runs it alone, journals it first',
    async (name, input) => {
      const s = await scene([{ toolCalls: [call(name, input), call(name, input)] }, { content: 'ok' }], { boot: full })
      const log: string[] = []
      let [open, most] = [0, 0]
      await s.run('go', {
        providers: {
          session: { kept: true, open: async () => noted(log) as never },
          execute: {
            run: async () => {
              log.push('ran')
              most = Math.max(most, ++open)
              await sleep(20)
              open -= 1
              return { ok: true, output: {}, text: 'ok' }
            },
          },
        },
      })
      expect(most).toBe(1)
      for (const { effects } of items(s.events, 'tool_invocation')) expect(effects).toContain('exec')
      const told = log.join(' ')
      expect(told.match(/begun (?:synced )+ran/g), told).toHaveLength(2)
    },
  )

  it('runs no command a second time after a kill, under any name of its tool', async () => {
    for (const [name, input] of [
      ['unified_exec_run', { command: 'echo ran >> log.txt; sleep 47.3' }],
      ['functions.unified_exec', { action: 'run', command: 'echo ran >> log.txt; sleep 47.3' }],
      ['Unified_Exec', { command: 'echo ran >> log.txt; sleep 47.3' }],
      ['run_shell', { program: 'sh', args: ['-c', 'echo ran >> log.txt; sleep 47.3'] }],
    ] as const) {
      const peer = hold(await startPeer([{ toolCalls: [call(name, input)] }, { content: 'fine' }]))
      const place = hold(await home(peer, {}, { settings: full.config }))
      await vtcode(place, ['exec', '--quiet', '--mode', 'full-auto', 'go'], {
        started: (child) => {
          const look = setInterval(() => written(place) && (clearInterval(look), child.kill('SIGKILL')), 20)
        },
      })
      expect(
        readdirSync(join(place.root, '.vtcode/sessions')).some((one) => one.startsWith('ses_')),
        name,
      ).toBe(true)
      expect((await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'full-auto'])).out, name).toBe(
        'fine\n',
      )
      expect(peer.bodies.at(-1).messages.at(-1).content, name).toMatch(/^ERROR VT_CALL_INTERRUPTED/)
      expect(await place.read('log.txt'), name).toBe('ran\n')
    }
  })

  it('runs no command a second time after a kill when its tool became read-only meanwhile', async () => {
    const peer = hold(await startPeer([{ toolCalls: [call('slow', {})] }, { content: 'fine' }]))
    const manifest = (effects: string) => `name: slow\ndescription: Slow.\neffects: [${effects}]\nmodule: ./slow.mjs\n`
    const place = hold(
      await home(
        peer,
        {},
        {
          settings: {
            ...(full.config as object),
            manifests: ['builtin', '~/slow.yaml'],
            plugins: { isolate: 'inline' },
          } as never,
        },
      ),
    )
    writeFileSync(join(place.home, 'slow.yaml'), manifest('exec'))
    writeFileSync(
      join(place.home, 'slow.mjs'),
      `import { appendFileSync } from 'node:fs'\nexport default () => {\n  appendFileSync(${JSON.stringify(join(place.root, 'log.txt'))}, 'ran\\n')\n  return new Promise((resolve) => setTimeout(() => resolve({ ok: true, output: {} }), 600_000))\n}\n`,
    )
    await vtcode(place, ['exec', '--quiet', '--mode', 'full-auto', 'go'], {
      started: (child) => {
        const look = setInterval(() => written(place) && (clearInterval(look), child.kill('SIGKILL')), 20)
      },
    })
    writeFileSync(join(place.home, 'slow.yaml'), manifest('read'))
    expect(await vtcode(place, ['resume', '--last', '--continue-turn', '--mode', 'full-auto'])).toMatchObject({
      out: 'fine\n',
    })
    expect(peer.bodies.at(-1).messages.at(-1).content).toMatch(/^ERROR VT_CALL_INTERRUPTED/)
    expect(await place.read('log.txt')).toBe('ran\n')
  })

  it('runs a command without a handler alone', async () => {
    const s = await scene([
      {
        toolCalls: [
          call('no_such_tool', {}),
          call('unified_file', { action: 'read', path: 'a' }),
          call('no_such_tool', { again: 1 }),
        ],
      },
      { content: 'ok' },
    ])
    let [open, most] = [0, 0]
    await s.run('go', {
      providers: {
        execute: {
          run: async () => (
            (most = Math.max(most, ++open)),
            await sleep(20),
            (open -= 1),
            { ok: true, output: {}, text: 'ok' }
          ),
        },
      },
    })
    expect(most).toBe(1)
  })
})

describe('tool traits under any name', () => {
  it('reports a change and exempts a poll from repetition under every name of a tool', async () => {
    const write = call('functions.unified_file', { action: 'write', path: 'a.txt', content: 'one\n' })
    const edit = call('edit_file', { path: 'a.txt', old_str: 'one', new_str: 'two' })
    const polls = Array.from({ length: 9 }, () => ({
      toolCalls: [call('unified_exec_poll', { session_id: 'run-00000000' })],
    }))
    const s = await scene([{ toolCalls: [write] }, { toolCalls: [edit] }, ...polls, { content: 'ok' }], { boot: full })
    expect((await s.run()).outcome_code).toBe('success')
    expect(items(s.events, 'file_change').map(({ changes }) => changes)).toMatchObject([
      [{ path: 'a.txt', kind: 'add' }],
      [{ path: 'a.txt', kind: 'update' }],
    ])
    expect(JSON.stringify(s.peer.bodies.at(-1))).not.toContain('VT_LOOP_CYCLE')
  })
})
