import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from 'vtcode'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'

const manifest = (name: string, more = 'effects: [read]'): string =>
  `name: ${name}\ndescription: ${name}.\n${more}\nmodule: ./${name}.js\n`
const action = (body: string, head = ''): string => `${head}\nexport default async (call, context) => { ${body} }\n`
const ok = 'return { ok: true, output: { fine: true } }'

/** Blocks its process like an endless loop, without processor time of other tests. */
const blocked = 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0)'
/** Ways to harm a program, each a plugin of its own. */
const hostile: Record<string, { code: string; says: RegExp; more?: string; body: string }> = {
  import_loop: { code: 'VT_PLUGIN_IMPORT', says: /within 3 s/, body: blocked },
  import_throw: { code: 'VT_PLUGIN_IMPORT', says: /on purpose/, body: "throw new Error('on purpose')" },
  import_exit: { code: 'VT_PLUGIN_IMPORT', says: /exit code 5/, body: 'process.exit(5)' },
  call_exit: { code: 'VT_PLUGIN_CRASHED', says: /exit code 7/, body: action('process.exit(7)') },
  call_kill: {
    code: 'VT_PLUGIN_CRASHED',
    says: /SIGKILL/,
    body: action("process.kill(process.pid, 'SIGKILL'); await new Promise(() => {})"),
  },
  timer_throw: {
    code: 'VT_PLUGIN_CRASHED',
    says: /too late/,
    body: action("setTimeout(() => { throw new Error('too late') }, 10); await new Promise(() => {})"),
  },
  rejection: {
    code: 'VT_PLUGIN_CRASHED',
    says: /nobody waits/,
    body: action(
      "Promise.reject(new Error('nobody waits')); await new Promise((resolve) => setTimeout(resolve, 60_000))",
    ),
  },
  call_loop: {
    code: 'VT_CALL_TIMEOUT',
    says: /within 1 s/,
    more: 'effects: [read]\ntimeout_secs: 1',
    body: action('while (true);'),
  },
  call_hang: {
    code: 'VT_CALL_TIMEOUT',
    says: /within 1 s/,
    more: 'effects: [read]\ntimeout_secs: 1',
    body: action('await new Promise(() => {})'),
  },
  heap: {
    code: 'VT_PLUGIN_CRASHED',
    says: /heap|memory|SIGABRT/i,
    body: action('const all = []; for (;;) all.push(new Array(100_000).fill(all.length))'),
  },
  buffers: {
    code: 'VT_PLUGIN_CRASHED',
    says: /memory/,
    body: action(
      'const all = []; for (;;) { all.push(Buffer.alloc(16_777_216, 1)); await new Promise((r) => setTimeout(r, 5)) }',
    ),
  },
  huge: {
    code: 'VT_CALL_BAD_RESULT',
    says: /32 MiB|larger|bytes/,
    body: action("return { ok: true, output: { text: 'x'.repeat(40_000_000) } }"),
  },
  garbage: {
    code: 'VT_PLUGIN_CRASHED',
    says: /no message/,
    body: action(
      "const { writeSync } = await import('node:fs'); writeSync(3, 'garbage\\n'); await new Promise(() => {})",
    ),
  },
  not_plain: {
    code: 'VT_CALL_BAD_RESULT',
    says: /plain JSON/,
    body: action(
      "const output = { get x() { throw new Error('caught') } }; output.self = output; return { ok: true, output }",
    ),
  },
}
const tame = {
  pollution: action(
    ok,
    "Array.prototype.map = () => ['polluted']\nObject.prototype.polluted = true\nglobalThis.fetch = () => 'polluted'\nprocess.env.POLLUTED = '1'\nprocess.chdir('/')",
  ),
  flood: action(
    `for (let i = 0; i < 20_000; i++) { console.log('x'.repeat(200)); context.log('info', 'y'.repeat(5000)) }\n${ok}`,
  ),
  forger: action(`process.stdout.write('{"t":"done","n":1,"value":{"ok":false}}\\n')\n${ok}`),
  good: action('return { ok: true, output: { pid: process.pid, slot: call.slot } }'),
  reads: action(`
    const text = await context.workspace.readText('a.txt')
    const file = await context.workspace.openFile('a.txt')
    const bytes = await file.read(0, 3)
    await file.close()
    const nested = await context.call('unified_file', { action: 'read', path: 'a.txt' })
    const outside = await context.workspace.readText('../x').catch((error) => error.code)
    const written = await context.workspace.write('b.txt', 'x', 'anything').catch((error) => error.code)
    context.session.state('count', () => ({ n: 0 })).n++
    const { n } = context.session.state('count', () => ({ n: 0 }))
    const slots = await context.host.slots()
    return { ok: true, output: { text, bytes: bytes.toString(), nested: nested.output.content, outside, written, n, slots: slots.length > 10, size: String((await context.workspace.stat('a.txt')).ino).length > 0, env: { ...process.env }, cwd: process.cwd(), options: context.plugin.options } }`),
  declines: action('return undefined'),
  imports: action('return ok({ here: typeof VtError })', "import { ok, VtError } from 'vtcode'"),
}
const sources: Record<string, string> = {
  ...Object.fromEntries(Object.entries(hostile).map(([name, { body }]) => [name, body])),
  ...tame,
}
const files: Record<string, string> = Object.fromEntries(
  Object.entries(sources).flatMap(([name, body]): [string, string][] => [
    [`${name}.js`, body],
    [`${name}.yaml`, manifest(name, hostile[name]?.more)],
  ]),
)

/** Returns the process ids of plugins whose data lies below a home. A sandbox shows other ids. */
async function processesOf(home: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number)
  const mine = await Promise.all(
    pids.map(async (pid) =>
      (await readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')).includes(`PLUGIN_DATA=${home}/`),
    ),
  )
  return pids.filter((_, at) => mine[at])
}

/** Processes of a sandbox die with it, so one may be gone before it is read. */
function killed(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error
  }
}

let plugins: TempWorkspace
let vt: Booted
beforeAll(async () => {
  plugins = await tempWorkspace(files)
  const config: Config = {
    plugins: {
      isolate: 'auto',
      import_timeout_secs: 3,
      max_memory_mb: 64,
      settings: { 'call:reads': { options: { depth: 3 } } },
    },
  }
  vt = await bootKernel({ manifests: [plugins.root], config, files: { 'a.txt': 'one\n' } })
})
afterAll(async () => {
  await vt[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})

describe('isolated module: hostile code', () => {
  it.each(Object.entries(hostile))(
    'fails with the name of a hostile module and serves other tools: %s',
    async (name, { code, says }) => {
      const [bad, good] = await Promise.all([vt.call(name, {}), vt.call('good', {})])
      matches(bad, { ok: false, error: { code } })
      expect(bad.ok ? '' : bad.error.message).toMatch(says)
      expect(bad.ok ? '' : bad.error.message).toContain(name)
      matches(good, { ok: true })
      matches(await vt.call('unified_file', { action: 'read', path: 'a.txt' }), { ok: true })
    },
  )

  it('keeps the changes of a hostile module inside its own process', async () => {
    await vt.call('pollution', {})
    expect(({} as { polluted?: boolean }).polluted).toBeUndefined()
    expect([1].map((n) => n + 1)).toEqual([2])
    expect([process.env['POLLUTED'], process.cwd() === '/']).toEqual([undefined, false])
    matches(await vt.call('good', {}), { ok: true })
  })

  it('answers a call of a module that floods its output or imitates the wire protocol', async () => {
    matches(await vt.call('flood', {}), { ok: true })
    matches(await vt.call('forger', {}), { ok: true })
  })

  it('quarantines a module after three crashes, lists it so, and tries it again after a reload', async () => {
    const config: Config = { plugins: { isolate: 'auto' } }
    await using mine = await bootKernel({
      manifests: [join(plugins.root, 'call_exit.yaml'), join(plugins.root, 'good.yaml')],
      config,
    })
    for (let n = 0; n < 3; n++)
      matches(await mine.call('call_exit', {}), { ok: false, error: { code: 'VT_PLUGIN_CRASHED', retryable: true } })
    matches(await mine.call('call_exit', {}), { ok: false, error: { code: 'VT_PLUGIN_QUARANTINED' } })
    matches(
      mine.kernel.inspection.contributions().find(({ id }) => id === 'call:call_exit'),
      { state: 'quarantined' },
    )
    matches(
      mine.kernel.diagnostics().find(({ code }) => code === 'VT_PLUGIN_CRASHED'),
      { message: 're:.*call_exit.*' },
    )
    matches(await mine.call('good', {}), { ok: true })
    await mine.kernel.reload()
    matches(await mine.call('call_exit', {}), { ok: false, error: { code: 'VT_PLUGIN_CRASHED' } })
  })

  it('quarantines all modules of a plugin together and still serves its data manifests', async () => {
    const folder = Object.fromEntries(
      ['call_exit', 'good'].flatMap((name) => [
        [`p/vtcode/${name}.yaml`, files[`${name}.yaml`]!],
        [`p/vtcode/${name}.js`, files[`${name}.js`]!],
      ]),
    )
    await using place = await tempWorkspace({
      ...folder,
      'p/vtcode/look.yaml': 'name: look\nalias: { to: unified_search/list }\n',
    })
    await using mine = await bootKernel({
      manifests: [join(place.root, 'p')],
      config: { plugins: { isolate: 'auto' } },
    })
    for (let n = 0; n < 3; n++) await mine.call('call_exit', {})
    matches(await mine.call('good', {}), { ok: false, error: { code: 'VT_PLUGIN_QUARANTINED' } })
    matches(await mine.call('look', {}), { ok: true })
    const states = mine.kernel.inspection
      .contributions()
      .filter(({ id }) => id.startsWith('p:'))
      .map(({ id, state }) => `${id} ${state}`)
    expect(states).toEqual(['p:call_exit quarantined', 'p:good quarantined', 'p:look active'])
  })
})

describe('isolated policy', () => {
  it('refuses a call whose policy process hangs, ends that process and judges the next call in a new one', async () => {
    await using place = await tempWorkspace({
      'guard.yaml':
        'name: guard\nkind: policy\ndescription: Judges.\nslots: [unified_search/grep]\nmodule: ./guard.js\n',
      'guard.js': `export default async ({ input }) => { if (input.pattern.startsWith('block')) ${blocked}; if (input.pattern === 'no') return { deny: 'Not this.' } }\n`,
    })
    await using mine = await bootKernel({
      manifests: [place.root],
      timeouts: { policy: 4000 },
      config: { plugins: { isolate: 'auto', quarantine_after: 1 } },
      files: { 'a.txt': 'one\n' },
    })
    const grep = (pattern: string) => mine.call('unified_search', { action: 'grep', pattern })
    matches(await grep('one'), { ok: true })
    const usual = (await processesOf(mine.home)).length
    // The plugin fails as often as `quarantine_after` allows.
    matches(await grep('block'), { ok: false, error: { code: 'VT_POLICY_DENIED', message: 're:.*guard.*' } })
    matches(await grep('one'), { ok: true })
    matches(await grep('no'), { ok: false, error: { code: 'VT_POLICY_DENIED' } })
    await expect.poll(async () => (await processesOf(mine.home)).length).toBeLessThanOrEqual(usual)
  })
})

describe('isolated module', () => {
  it('gives a module the workspace, calls of tools and its state within its declared effects', async () => {
    process.env['VTCODE_TEST_CANARY'] = 'not-for-plugins'
    await vt.call('reads', {})
    const result = await vt.call('reads', {})
    delete process.env['VTCODE_TEST_CANARY']
    expect(result).toMatchObject({
      ok: true,
      output: {
        text: 'one\n',
        bytes: 'one',
        nested: 'one\n',
        outside: 'VT_PATH_OUTSIDE',
        written: 'VT_PLUGIN_EFFECT',
        n: 2,
        slots: true,
        size: true,
        options: { depth: 3 },
      },
    })
    const { env, cwd } = (result as unknown as { output: { env: Record<string, string>; cwd: string } }).output
    expect(Object.values(env)).not.toContain('not-for-plugins')
    expect(env['VTCODE']).toBe('1')
    expect(cwd).toBe(env['PLUGIN_DATA'])
    expect(await vt.read('b.txt')).toBeUndefined()
  })

  it('resolves the package name of the running program inside a module', async () => {
    matches(await vt.call('imports', {}), { ok: true, output: { here: 'function' } })
  })

  it('lets a module decline a call', async () => {
    matches(await vt.call('declines', {}), { ok: false, error: { code: 'VT_ACTION_DECLINED' } })
  })

  it('runs a module in another process, reuses it for the next call and ends it with the kernel', async () => {
    const config: Config = { plugins: { isolate: 'auto' } }
    const mine = await bootKernel({ manifests: [join(plugins.root, 'good.yaml')], config })
    const pid = async (): Promise<number> =>
      ((await mine.call('good', {})) as unknown as { output: { pid: number } }).output.pid
    const first = await pid()
    expect(first).not.toBe(process.pid)
    expect(await pid()).toBe(first)
    expect(await processesOf(mine.home)).not.toEqual([])
    await mine[Symbol.asyncDispose]()
    await expect.poll(() => processesOf(mine.home)).toEqual([])
  })

  it('fails the call of a module that is killed and serves the next call in a new process', async () => {
    await using place = await tempWorkspace({
      'slow.yaml': manifest('slow', 'effects: [read]\ninput: { properties: { wait: { type: boolean } } }'),
      'slow.js': action(
        "if (call.input.wait) { context.progress({ text: 'waiting' }); await new Promise(() => {}) } return { ok: true, output: {} }",
      ),
    })
    for (const sandbox of ['auto', 'off'] as const) {
      await using mine = await bootKernel({
        manifests: [place.root],
        config: { plugins: { isolate: 'auto' }, sandbox: { plugins: sandbox } },
      })
      let waiting: Promise<unknown> | undefined
      await new Promise<void>(
        (resolve) => (waiting = mine.call('slow', { wait: true }, { onProgress: () => resolve() })),
      )
      for (const pid of await processesOf(mine.home)) killed(pid)
      matches(await waiting, {
        ok: false,
        error: { code: 'VT_PLUGIN_CRASHED', message: 're:.*slow.*SIGKILL.*', retryable: true },
      })
      matches(await mine.call('slow', {}), { ok: true })
    }
  })

  it('runs the onClose handlers of a module when a session ends and when the kernel closes', async () => {
    await using place = await tempWorkspace({
      'keeps.yaml': manifest('keeps'),
      'keeps.js': action(
        "context.session.onClose(async () => (await import('node:fs')).appendFileSync(context.plugin.data + '/closed', context.session.id + '\\n')); return { ok: true, output: { data: context.plugin.data } }",
      ),
    })
    const mine = await bootKernel({ manifests: [place.root], config: { plugins: { isolate: 'auto' } } })
    const { output } = (await mine.call('keeps', {}, { session: 'one' })) as unknown as { output: { data: string } }
    await mine.call('keeps', {}, { session: 'two' })
    const closed = (): Promise<string> => readFile(join(output.data, 'closed'), 'utf8')
    await mine.kernel.endSession('one')
    expect(await closed()).toBe('one\n')
    await mine.kernel.close()
    expect(await closed()).toBe('one\ntwo\n')
    await mine[Symbol.asyncDispose]()
  })

  it('applies the verdict of an isolated policy and denies when its process dies', async () => {
    const policy = (name: string): string => `name: ${name}\nkind: policy\nslots: [good]\nmodule: ./${name}.js\n`
    for (const [name, body, code] of [
      ['says_no', "return { deny: 'Not today.' }", 'VT_POLICY_DENIED'],
      ['says_nothing', '', undefined],
      ['dies', 'process.exit(1)', 'VT_POLICY_DENIED'],
    ] as const) {
      await using place = await tempWorkspace({
        [`${name}.yaml`]: policy(name),
        [`${name}.js`]: action(body),
        'good.yaml': files['good.yaml']!,
        'good.js': files['good.js']!,
      })
      await using mine = await bootKernel({
        manifests: [place.root],
        timeouts: { policy: 60_000 },
        config: { plugins: { isolate: 'auto' } },
      })
      matches(await mine.call('good', {}), code ? { ok: false, error: { code } } : { ok: true })
    }
  })

  it('shortens results with an isolated compactor and skips a compactor that dies', async () => {
    const compactor = (name: string): string => `name: ${name}\nkind: compactor\nslots: [good]\nmodule: ./${name}.js\n`
    await using place = await tempWorkspace({
      'short.yaml': compactor('short'),
      'short.js': 'export default (result) => ({ ...result, output: {} })\n',
      'dies.yaml': compactor('dies'),
      'dies.js': 'export default () => process.exit(1)\n',
      'good.yaml': files['good.yaml']!,
      'good.js': files['good.js']!,
    })
    await using mine = await bootKernel({
      manifests: [place.root],
      timeouts: { compactor: 60_000 },
      config: { plugins: { isolate: 'auto' } },
    })
    const result = await mine.call('good', {})
    matches(result, { ok: true, output: {}, notices: [{ code: 'VT_COMPACT_IGNORED' }] })
    expect(result.ok && Object.keys(result.output)).toEqual([])
  })

  it('runs a module in the process of the kernel when the user settings say so', async () => {
    const pid = async (config: object, entry: object = {}): Promise<number> => {
      await using mine = await bootKernel({
        manifests: [{ from: join(plugins.root, 'good.yaml'), ...entry }],
        config: { plugins: { isolate: 'auto', ...config } },
      })
      return ((await mine.call('good', {})) as unknown as { output: { pid: number } }).output.pid
    }
    expect(await pid({ isolate: 'inline' })).toBe(process.pid)
    expect(await pid({ settings: { 'call:good': { isolate: 'inline' } } })).toBe(process.pid)
    expect(await pid({}, { isolate: 'inline' })).toBe(process.pid)
    expect(await pid({ isolate: 'process' }, { isolate: 'inline' })).not.toBe(process.pid)
  })
})

it('loses no call during a reload under load: each call finishes in the process that began it', async () => {
  await using mine = await bootKernel({
    manifests: [join(plugins.root, 'good.yaml')],
    config: { plugins: { isolate: 'auto' } },
  })
  await mine.call('good', {})
  const failed: unknown[] = []
  let calls = 0
  let over = false
  const load = Array.from({ length: 8 }, async () => {
    while (!over) {
      const result = await mine.call('good', {})
      calls++
      if (!result.ok) failed.push(result.error)
      await new Promise((resolve) => setTimeout(resolve, 20))
    }
  })
  for (let n = 0; n < 5; n++) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    matches(await mine.kernel.reload(), { ok: true })
  }
  over = true
  await Promise.all(load)
  expect(failed).toEqual([])
  expect(calls).toBeGreaterThan(10)
})
