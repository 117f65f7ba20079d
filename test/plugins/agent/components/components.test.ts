import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createKernel, type Kernel } from 'vtcode'
import * as agent from 'vtcode/agent'
import { createAgent, type RunContext } from 'vtcode/agent'
import { tempWorkspace } from 'vtcode/test'
import { describe, expect, it } from 'vitest'
import { hold, items, scene } from '../../../support/inside.js'
import { call, eventsOf, home, settingsFor, startPeer, vtcode, type Home } from '../../../support/peer.js'

/** Components by the specification, in the order of `places`. */
const places: RunContext[] = ['interactive', 'exec', 'ci', 'bench', 'worker']
const table = {
  approval: ['prompt', 'deny_ask', 'deny_ask', 'approve_all', 'deny_ask'],
  sandbox: ['workspace', 'workspace', 'strict', 'strict', 'strict'],
  execute: Array(5).fill('kernel'),
  metadata: Array(5).fill('manifest'),
  session: ['disk', 'disk', 'disk', 'memory', 'disk'],
  output_map: Array(5).fill('concise'),
  logging: ['journal', 'journal_and_stderr', 'journal_and_stderr', 'journal', 'journal'],
  cache: Array(5).fill('none'),
  retry: ['backoff', 'backoff', 'backoff', 'none', 'backoff'],
  clock: Array(5).fill('system'),
  random: ['system', 'system', 'system', 'seeded', 'system'],
  fetch: Array(5).fill('system'),
  notify: ['bell', 'stderr', 'none', 'none', 'none'],
}

const place = async (
  script: Parameters<typeof startPeer>[0] = [],
  extra: Parameters<typeof home>[2] = {},
): Promise<Home> => hold(await home(hold(await startPeer(script)), {}, extra))
const withProviders = (providers: object) => ({ settings: { agent: { model: 'peer/m', providers } } })
/** Component → [name, who chose it]. */
const record = async (at: Home, args: string[] = [], env: Record<string, string> = {}) => {
  const { out, code, err } = await vtcode(at, ['doctor', '--providers', '--json', ...args], { env })
  const { context, providers } = out === '' ? { context: undefined, providers: [] } : JSON.parse(out)
  return {
    code,
    err,
    context,
    chosen: Object.fromEntries(providers.map(({ component, name, by }: any) => [component, [name, by]])) as Record<
      string,
      [string, string]
    >,
  }
}
const ask = call('unified_exec', {
  action: 'run',
  command: ['touch', 'made'],
  sandbox_permissions: 'require_escalated',
  justification: 'to see',
})

describe('agent components', () => {
  it('uses for each context the components of the table', async () => {
    const at = await place()
    for (const [index, context] of places.entries()) {
      const { chosen, context: found } = await record(at, ['--context', context])
      expect(found).toBe(context)
      expect(chosen).toEqual(
        Object.fromEntries(
          Object.entries(table).map(([component, names]) => [component, [names[index], `context ${context}`]]),
        ),
      )
    }
  })

  it('freezes components and what modules receive', async () => {
    const s = await scene([])
    // The published types leave `openThread` out, because only the program's surfaces use it.
    const { openThread } = agent as unknown as {
      openThread(
        kernel: Kernel,
        options: agent.AgentOptions,
      ): Promise<{ thread: { providers: agent.AgentProviders }; close(): Promise<void> }>
    }
    const { thread, close } = await openThread(s.booted.kernel, { env: {} })
    expect(() => ((thread.providers as { clock: unknown }).clock = 1)).toThrow(TypeError)
    expect(() => ((thread.providers.sandbox as { choose: unknown }).choose = () => 'none')).toThrow(TypeError)
    await close()
    const at = await place([{ content: 'ok' }])
    // A module gets the entry that it replaces, frozen too.
    own(
      at,
      'logging',
      `export default (options, { inner }) => {
      try { inner.open = () => {} } catch (error) { return { open: (store) => async (event) => { if (event.type === 'thread.started') await store.write('said', error.name); await inner.open(store)(event) } } }
    }`,
    )
    const { code } = await vtcode(at, ['exec', '--json', 'go'])
    expect(code).toBe(0)
    const session = readdirSync(join(at.root, '.vtcode/sessions')).find((name) => name.startsWith('ses_'))
    expect(readFileSync(join(at.root, '.vtcode/sessions', session!, 'said'), 'utf8')).toBe('TypeError')
    expect(existsSync(join(at.root, '.vtcode/sessions', session!, 'events.jsonl'))).toBe(true)
  })

  it('keeps the clock, random numbers, timers and the CI check out of all other code', () => {
    const root = fileURLToPath(new URL('../../../../plugins/agent/', import.meta.url))
    const files = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'))
    expect(files.length).toBeGreaterThan(50)
    const looking = files.filter((file) =>
      /process\.env|['".]CI\b|Date\.now|new Date\(\)|Math\.random|set(Timeout|Interval|Immediate)\b|AbortSignal\.timeout|performance\.now|randomUUID/.test(
        readFileSync(join(root, file), 'utf8'),
      ),
    )
    // Allowed: the component files, the default of the library, a mark in memory only, and leases, which real time ends.
    expect(looking.sort()).toEqual([
      'base/clock.ts',
      'components/run_context.ts',
      'model/transport.ts',
      'open.ts',
      'remote/run_job.ts',
      'session/lease.ts',
    ])
  })

  it('repeats a run byte for byte with the clock and random numbers of the caller', async () => {
    const at = hold(await tempWorkspace({ 'a.txt': 'one\n' }))
    const env = { PATH: process.env['PATH']!, HOME: at.home }
    const logs: string[][] = []
    for (let round = 0; round < 2; round += 1) {
      const script = [
        { toolCalls: [call('unified_file', { action: 'read', path: 'a.txt' }, 'call_1')] },
        { error: { message: 'busy' }, status: 503 },
        { content: 'done' },
        { content: 'and that' },
      ]
      const peer = hold(await startPeer(script))
      const kernel = await createKernel({ workspace: at.root, env, mode: 'auto', config: settingsFor(peer) as never })
      let [time, seed] = [Date.UTC(2026, 0, 1), 7]
      const agent = await createAgent(kernel, {
        env,
        providers: {
          clock: { now: () => time, sleep: async (ms) => void (time += ms) },
          random: { next: () => (seed = (seed * 1103515245 + 12345) % 2 ** 31) / 2 ** 31 },
        },
      })
      await agent.followUp('and then that')
      await agent.run('read it')
      await agent.close()
      await kernel.close()
      const folder = join(at.root, '.vtcode/sessions', agent.session_id)
      logs.push(
        ['messages.jsonl', 'events.jsonl', 'queue.json', 'manifest.json'].map((name) =>
          readFileSync(join(folder, name), 'utf8'),
        ),
      )
      rmSync(join(at.root, '.vtcode'), { recursive: true })
    }
    expect(logs[1]).toEqual(logs[0])
    expect(logs[0]![0]).toContain('and then that')
  })
})

describe('run contexts', () => {
  it('makes the context of exec ci in a CI environment and refuses a looser context', async () => {
    const at = await place([{ content: 'ok' }, { content: 'ok' }])
    expect(await record(at)).toMatchObject({ context: 'exec' })
    expect(await record(at, [], { CI: 'true' })).toMatchObject({ context: 'ci' })
    own(at, undefined, undefined, {
      settings: { agent: { model: 'peer/m', harness: { async_approval: { enabled: true } } } },
    })
    expect((await record(at)).chosen['approval']).toEqual(['file', 'agent.harness.async_approval'])
    expect((await record(at, ['--context', 'ci'])).chosen['approval']).toEqual(['deny_ask', 'context ci'])
    expect((await vtcode(at, ['exec', '--context', 'ci', 'go'])).code).toBe(0)
    expect((await vtcode(at, ['chat', '--plain', '--context', 'worker'], { input: 'hi\n' })).code).toBe(0)
    for (const [asked, env] of [
      ['exec', { CI: 'true' }],
      ['interactive', {}],
      ['bench', { CI: 'true' }],
    ] as const) {
      expect(await vtcode(at, ['exec', '--context', asked, 'go'], { env }), asked).toMatchObject({
        code: 3,
        err: expect.stringContaining(`--context ${asked} is looser than`),
      })
    }
    expect(await vtcode(at, ['exec', '--context', 'home', 'go'])).toMatchObject({ code: 2 })
  })

  it('approves everything in bench only in a working sandbox and keeps no session without --keep', async () => {
    const at = await place(
      [
        { toolCalls: [call('unified_exec', { action: 'run', command: 'touch ruled; touch /usr/x' }), ask] },
        { content: 'ok' },
        { content: 'not all' },
        { content: 'kept' },
      ],
      { settings: { policy: { ask: ['Bash(touch *)'] } } },
    )
    const { code, out } = await vtcode(at, ['exec', '--json', '--context', 'bench', 'go'])
    expect([code, items(eventsOf(out), 'tool_output').map(({ output, error_code }) => error_code ?? output)]).toEqual([
      0,
      [expect.stringContaining('Read-only file system'), 'VT_EXEC_SANDBOX'],
    ])
    const kept = () =>
      readdirSync(at.root, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('messages.jsonl'))
        .length
    expect([existsSync(join(at.root, 'ruled')), existsSync(join(at.root, 'made')), kept()]).toEqual([true, false, 0])
    expect(await vtcode(at, ['exec', '--context', 'bench', '--keep', 'go'])).toMatchObject({ code: 0, out: 'kept\n' })
    expect(kept()).toBe(1)
    expect(await vtcode(at, ['exec', '--context', 'bench', 'go'], { env: { PATH: '/nonexistent' } })).toMatchObject({
      code: 3,
      err: expect.stringContaining('needs a sandbox, and'),
    })
  })

  it('refuses bench and approve_all without a strict sandbox', async () => {
    const at = await place()
    const bare = { PATH: '/nonexistent' }
    expect(await record(at, ['--context', 'bench'], bare)).toMatchObject({
      code: 3,
      err: expect.stringContaining('bwrap'),
    })
    own(at, undefined, undefined, withProviders({ approval: 'approve_all' }))
    expect(await vtcode(at, ['exec', 'go'])).toMatchObject({
      code: 3,
      err: expect.stringContaining('needs the sandbox strict; it is workspace (context exec)'),
    })
    own(at, undefined, undefined, withProviders({ approval: 'approve_all', sandbox: 'strict' }))
    expect(await vtcode(at, ['exec', 'go'], { env: bare })).toMatchObject({
      code: 3,
      err: expect.stringContaining('bwrap'),
    })
    expect(await record(at)).toMatchObject({
      code: 0,
      chosen: {
        approval: ['approve_all', expect.stringMatching(/^agent\.providers\.approval in .*vtcode\.config\.json/)],
        sandbox: ['strict', expect.any(String)],
      },
    })
  })

  it('refuses a call that needs approval when no person can be asked and names the rule', async () => {
    const at = await place(
      [
        { toolCalls: [ask, call('unified_exec', { action: 'run', command: 'touch ruled' })] },
        { content: 'ok' },
        { content: 'I may not.' },
      ],
      { settings: { policy: { ask: ['Bash(touch *)'] } } },
    )
    const { code, out } = await vtcode(at, ['exec', '--json', 'go'], { env: { CI: 'true' } })
    const events = eventsOf(out)
    expect(events.at(-1)).toMatchObject({ outcome_code: 'escalated' })
    expect(code).toBe(1)
    expect(items(events, 'tool_output').map(({ output }) => output)).toEqual([
      expect.stringContaining('wants to run outside the sandbox'),
      expect.stringContaining('Bash(touch *)'),
    ])
    expect(readdirSync(at.root)).toEqual(['.vtcode'])
  })

  it('runs commands in the sandbox or not at all when the sandbox component is strict', async () => {
    const s = await scene(
      [
        { toolCalls: [ask, call('unified_exec', { action: 'run', command: 'touch /usr/x || touch inside' })] },
        { content: 'ok' },
      ],
      { boot: { config: { sandbox: { mode: 'off' } } as never } },
    )
    await s.run('go', { providers: { sandbox: 'strict', approval: { approve: () => true } } })
    expect(items(s.events, 'tool_output').map(({ output, error_code }) => error_code ?? output)).toEqual([
      'VT_EXEC_SANDBOX',
      expect.stringContaining('Read-only file system'),
    ])
    expect([await s.booted.read('made'), await s.booted.read('inside')]).toEqual([undefined, ''])
    const loose = await scene(
      [{ toolCalls: [call('unified_exec', { action: 'run', command: 'touch /usr/x' })] }, { content: 'ok' }],
      { boot: { config: { sandbox: { mode: 'required' } } as never } },
    )
    await loose.run('go', { providers: { sandbox: 'none', execute: 'kernel' } })
    expect(items(loose.events, 'tool_output').map(({ output }) => output)).toEqual([
      expect.stringContaining('Read-only file system'),
    ])
  })

  it('uses the context that the library caller passes and lets components be chosen by name', async () => {
    const s = await scene([{ error: { message: 'busy' }, status: 503 }, { content: 'never' }])
    expect(await s.run('go', { context: 'bench', providers: { logging: 'silent' } })).toMatchObject({
      outcome_code: 'failed',
      error: { code: 'VT_LLM_REQUEST' },
    })
    expect([s.peer.asked.length, existsSync(join(s.booted.root, '.vtcode/sessions'))]).toEqual([1, false])
    await expect(s.run('go', { providers: { clock: 'sundial' } })).rejects.toMatchObject({
      code: 'VT_CONFIG_INVALID',
      message: "The caller: unknown clock 'sundial'; known: system.",
    })
    await expect(s.run('go', { providers: { watch: 'system' } as never })).rejects.toMatchObject({
      message: expect.stringContaining("unknown component 'watch'"),
    })
    const dry = await scene([
      { toolCalls: [call('unified_file', { action: 'write', path: 'a', content: 'x' })] },
      { content: 'ok' },
    ])
    await dry.run('go', { providers: { execute: 'dry_run', output_map: 'detailed' } })
    expect(await dry.booted.read('a')).toBeUndefined()
    expect(JSON.parse(items(dry.events, 'tool_output')[0].output)).toMatchObject({
      verdict: 'run',
      call: { slot: 'unified_file/write' },
    })
  })
})

/** Writes user settings, and next to them a module that they name `mine`. */
function own(
  at: Home,
  component?: string,
  code = '',
  extra: Parameters<typeof settingsFor>[1] = component ? withProviders({ [component]: 'mine' }) : {},
): void {
  const file = join(at.home, '.vtcode/vtcode.config.json')
  const before = JSON.parse(readFileSync(file, 'utf8'))
  const folder = join(at.home, 'mine')
  writeFileSync(
    file,
    JSON.stringify({ ...before, ...(component && { manifests: ['builtin', folder] }), ...extra!.settings }),
  )
  if (!component) return
  mkdirSync(folder, { recursive: true })
  writeFileSync(
    join(folder, 'vtcode.json'),
    JSON.stringify({ name: 'mine', kind: 'provider', component, module: './mine.mjs' }),
  )
  writeFileSync(join(folder, 'mine.mjs'), code)
}

describe('components from a module', () => {
  it('uses a component module that the user names and lists it as no model provider', async () => {
    const at = await place([{ toolCalls: [ask] }, { content: 'ok' }])
    own(
      at,
      'approval',
      'export default () => ({ approve: ({ reasons }) => { process.stderr.write(`asked: ${reasons}\\n`); return true } })',
    )
    // The module writes to the error stream of its process.
    const { code, err } = await vtcode(at, ['exec', 'go'], { process: true })
    expect([code, err]).toEqual([
      0,
      expect.stringContaining('asked: The command wants to run outside the sandbox: to see'),
    ])
    expect(existsSync(join(at.root, 'made'))).toBe(true)
    expect((await record(at)).chosen['approval']).toEqual([
      'mine',
      expect.stringContaining('agent.providers.approval in'),
    ])
    expect((await vtcode(at, ['models', '--text'])).out).toMatch(/^peer\/m .*\n$/)
  })

  it('exits with code 3 when a component module is missing, throws or has the wrong shape', async () => {
    for (const [code, says] of [
      ['export default () => ({})', 'returns no clock, which needs now and sleep.'],
      ['export default () => { throw new Error("no luck") }', 'fails: no luck'],
      ['export const other = 1', 'cannot be loaded'],
    ] as const) {
      const at = await place()
      own(at, 'clock', code)
      expect(await vtcode(at, ['exec', 'go']), code).toMatchObject({ code: 3, err: expect.stringContaining(says) })
    }
    const at = await place([], withProviders({ retry: 'forever' }))
    expect(await vtcode(at, ['exec', 'go'])).toMatchObject({
      code: 3,
      err: expect.stringMatching(/agent\.providers\.retry in .*: unknown retry 'forever'; known: backoff, none\./),
    })
    const strange = await place([], withProviders({ sundial: 'system' }))
    expect(await vtcode(strange, ['exec', 'go'])).toMatchObject({
      code: 3,
      err: expect.stringContaining("unknown component 'sundial'; known: approval, cache, clock"),
    })
  })

  it('ignores a component module of a workspace, trusted or not', async () => {
    const at = await place([], withProviders({ approval: 'mine' }))
    const folder = join(at.root, '.vtcode/plugins/mine')
    mkdirSync(folder, { recursive: true })
    writeFileSync(
      join(folder, 'vtcode.json'),
      JSON.stringify({ name: 'mine', kind: 'provider', component: 'approval', module: './mine.mjs' }),
    )
    writeFileSync(join(folder, 'mine.mjs'), 'export default () => ({ approve: () => true })')
    expect((await vtcode(at, ['trust', 'add', 'plugin:mine'])).code).toBe(0)
    expect(await vtcode(at, ['exec', 'go'])).toMatchObject({
      code: 3,
      err: expect.stringContaining("unknown approval 'mine'"),
    })
    const plain = await place([{ content: 'ok' }])
    writeFileSync(
      join(plain.root, 'vtcode.config.json'),
      JSON.stringify({ agent: { providers: { approval: 'approve_all', sandbox: 'none' } } }),
    )
    expect((await record(plain)).chosen).toMatchObject({
      approval: ['deny_ask', 'context exec'],
      sandbox: ['workspace', 'context exec'],
    })
  })
})
