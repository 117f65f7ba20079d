import { spawn } from 'node:child_process'
import { readdirSync, readFileSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'vitest'
import { tempWorkspace, type Boot, type Files } from 'vtcode/test'
import { hold, scene } from '../../../support/inside.js'
import { call, home, startPeer, type Answer } from '../../../support/peer.js'
import { bin, vtcode } from '../../../support/program.js'
import { apart, each, errorOf, gives, listed, outputOf, refuses, type Check, type Row } from '../../../support/seed.js'

// Of the program as a runtime of tools: its seams, its command line, its tools.
export const boot: Boot = {
  files: {
    'a.txt': 'one\ntwo\nthree\n',
    'src/app.ts': 'export function main() {}\n',
    '.hidden/x.ts': 'one\n',
    '.agents/skills/demo/SKILL.md': '---\nname: demo\ndescription: Use for demos.\n---\nStep one.\n',
    ...Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`crowd/f${index}.txt`, 'crowd\n'])),
  },
  config: { sandbox: { mode: 'off' } },
}
const root = fileURLToPath(new URL('../../../..', import.meta.url))
const having = (manifests: Files, more: Boot = {}): ((check: Check) => Check) =>
  apart(async () => {
    const ends = await tempWorkspace(manifests)
    return { ...more, manifests: [ends.root], ends }
  })
/** The seed's own tool, in two modes, written by somebody else. */
const own = having({
  'my_tool.yaml':
    'action: my_tool\ndescription: My custom tool.\neffects: [read]\ninput: { type: object, properties: { mode: { enum: [mode1, mode2], default: mode1 } } }\nmodule: ./my_tool.js\n',
  'my_tool.js': 'export default ({ input }) => ({ ok: true, output: { ran: input.mode } })\n',
})
const run = (input: object): object => ({ action: 'run', ...input })
const cli = async (args: string[], files: Files = { 'a.txt': 'one\n' }, how: Parameters<typeof vtcode>[2] = {}) => {
  const place = hold(await tempWorkspace(files))
  return { place, ...(await vtcode(place, args, how)) }
}
const server = `process.stdin.on('data', (chunk) => { for (const line of String(chunk).split('\\n').filter(Boolean)) { const { id, method } = JSON.parse(line); if (id === undefined) continue; const result = method === 'initialize' ? { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } } : method === 'tools/list' ? { tools: [{ name: 'greet', inputSchema: { type: 'object' } }] } : { content: [{ type: 'text', text: 'hello from a server' }] }; process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n') } })`
/** Starts the program, sends it a signal after its first output, and returns how it ended. */
async function signalled(signal: NodeJS.Signals) {
  const slow: Answer = { content: 'word '.repeat(200), how: { latency: 200, chunkSize: 5 } as never }
  const at = hold(await home(hold(await startPeer([slow]))))
  const child = spawn(process.execPath, [bin, 'exec', '--json', 'go'], {
    cwd: at.root,
    env: at.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  let sent = false
  child.stdout.on('data', (chunk) => {
    out += String(chunk)
    if (!sent && out.includes('turn.started')) {
      sent = true
      child.kill(signal)
    }
  })
  const code = await new Promise((resolve) => child.on('close', resolve))
  return { code, out, at }
}

export const rows: Row[] = [
  [
    '1',
    'modular, maintainable, extensible',
    each(
      ({ kernel }) => expect(kernel.list().every(({ slot, chain }) => slot !== '' && chain.length > 0)).toBe(true),
      own(gives('my_tool', {}, { ran: 'mode1' })),
    ),
  ],
  [
    '2',
    'runtime composition by internal interfaces (traits)',
    async () => {
      const s = await scene([{ toolCalls: [call('unified_file', { action: 'read', path: 'x' })] }, { content: 'ok' }])
      await s.run('go', {
        providers: { execute: { run: async () => ({ ok: true, output: {}, text: 'from another provider' }) } },
      })
      expect(JSON.stringify(s.peer.bodies[1].messages)).toContain('from another provider')
    },
  ],
  ['3', 'external seams: protocols and manifests', own(gives('my_tool', { mode: 'mode2' }, { ran: 'mode2' }))],
  [
    '4',
    'MCP as extension seam (client)',
    apart({ config: { mcp: { servers: { s: { command: process.execPath, args: ['-e', server] } } } } as never })(
      async ({ call }) => expect(JSON.stringify(await call('mcp__s__greet', {}))).toContain('hello from a server'),
    ),
  ],
  ['4', 'skills as extension seam', gives('load_skill', { name: 'demo' }, { instructions: 'Step one.\n' })],
  ['4', 'plugin manifests', own((place) => expect(listed(place, 'my_tool').description).toBe('My custom tool.'))],
  [
    '5',
    '[[custom_providers]]',
    async () => {
      const s = await scene([{ content: 'from the provider of the settings' }])
      expect(await s.run('go')).toMatchObject({ text: 'from the provider of the settings' })
    },
  ],
  [
    '6',
    'third parties need no core change',
    having({
      'o.yaml': 'name: mine\naction: unified_search/grep\nstage: override\nmodule: ./o.js\n',
      'o.js': "export default async () => ({ ok: true, output: { matches: [], backend: 'mine' } })\n",
    })(gives('unified_search', { action: 'grep', pattern: 'x' }, { backend: 'mine' })),
  ],
  [
    '9',
    'explicit provider selection (dictionary)',
    ({ kernel }) =>
      expect(kernel.list().find(({ slot }) => slot === 'unified_search/outline')!.chain).toEqual([
        'builtin:unified_search_outline',
        'builtin:outline_tree_sitter',
      ]),
  ],
  [
    '12',
    'context chooses once',
    having(
      {
        'o.yaml': 'name: mine\naction: unified_search/grep\nstage: override\nmodule: ./o.js\n',
        'o.js': "export default async () => ({ ok: true, output: { matches: [], backend: 'mine' } })\n",
      },
      { config: { use: { 'unified_search/grep': 'builtin:unified_search_grep' } } as never },
    )(gives('unified_search', { action: 'grep', pattern: 'x' }, { backend: 'ripgrep' })),
  ],
  [
    '20',
    'sandbox / execution environment',
    apart({ files: { 'a.txt': '' } })(
      each(
        gives('unified_exec', run({ command: 'echo x > inside.txt; cat inside.txt' }), { stdout: 'x\n' }),
        async (place) => {
          await outputOf(place, 'unified_exec', run({ command: `echo x > ${place.home}/outside.txt; true` }))
          expect(readdirSync(place.home)).not.toContain('outside.txt')
        },
      ),
    ),
  ],
  [
    '20',
    'workspace trust',
    async () => {
      const { code, stderr, stdout } = await cli(['--mode', 'auto', 'call', 'mine'], {
        'vtcode.config.yaml': 'manifests: [./mine.yaml]\n',
        'mine.yaml': 'action: mine\ndescription: Mine.\nmodule: ./mine.js\n',
        'mine.js': 'export default () => ({ ok: true, output: { ran: true } })\n',
      })
      expect(`${code} ${stdout}${stderr}`).not.toMatch(/"ran": ?true/)
    },
  ],
  [
    '20',
    'command policies, allow-lists',
    apart({
      mode: 'auto',
      config: { policy: { allow: ['Bash(echo yes)'], deny: ['Bash(echo no)'] }, sandbox: { mode: 'off' } } as never,
    })(
      each(
        gives('unified_exec', run({ command: 'echo yes' })),
        refuses('unified_exec', run({ command: 'echo no' }), { code: 'VT_POLICY_DENIED' }),
        refuses('unified_exec', run({ command: 'npm test' }), { code: 'VT_POLICY_NEEDS_APPROVAL' }),
      ),
    ),
  ],
  [
    '51',
    'CLI built on principles',
    async () => expect(await cli(['no-such-verb'])).toMatchObject({ code: 2, stdout: '' }),
  ],
  [
    '52',
    'data to stdout, diagnostics to stderr',
    async () => {
      const { stdout, stderr, code } = await cli(['--verbose', 'call', 'unified_file', 'read', '--path', 'a.txt'])
      expect([code, JSON.parse(stdout).ok]).toEqual([0, true])
      expect(stderr).not.toContain('"ok"')
    },
  ],
  [
    '52',
    'clean piping',
    async () =>
      expect(
        JSON.parse(
          (
            await cli(
              ['call', 'unified_file', '--input', '-'],
              { 'a.txt': 'one\n' },
              { stdin: '{"action":"read","path":"a.txt"}' },
            )
          ).stdout,
        ),
      ).toMatchObject({ ok: true, output: { content: 'one\n' } }),
  ],
  [
    '54',
    'POSIX/GNU argument parsing',
    async () => {
      expect(
        JSON.parse((await cli(['--mode=auto', 'call', 'unified_file', '--action=read', '--path=a.txt'])).stdout),
      ).toMatchObject({ ok: true })
      expect((await cli(['--no-such-flag', 'tools'])).code).toBe(2)
    },
  ],
  [
    '54',
    'one module a sub-command (ask, exec, chat)',
    () =>
      expect(readdirSync(join(root, 'plugins/surface'))).toEqual(
        expect.arrayContaining(['ask.ts', 'exec.ts', 'chat.ts']),
      ),
  ],
  [
    '55',
    'shared core logic',
    async (place) => {
      const { stdout } = await cli(['call', 'unified_search', 'list'])
      const here = await apart({ files: { 'a.txt': 'one\n' } })(async ({ call }) =>
        expect(JSON.parse(stdout)).toEqual(
          JSON.parse(JSON.stringify(await call('unified_search', { action: 'list' }))),
        ),
      )(place)
      return here
    },
  ],
  [
    '56',
    'SIGINT graceful',
    async () => {
      const { code, out } = await signalled('SIGINT')
      expect([code, JSON.parse(out.trim().split('\n').at(-1)!).type]).toEqual([130, 'thread.completed'])
    },
  ],
  [
    '56',
    'SIGTERM graceful',
    async () => {
      const { code, out } = await signalled('SIGTERM')
      expect([code, JSON.parse(out.trim().split('\n').at(-1)!).type]).toEqual([130, 'thread.completed'])
    },
  ],
  [
    '56',
    'terminal state restored',
    async (place) => {
      const { output } = await outputOf(
        place,
        'unified_exec',
        run({
          command: `before=$(stty -g); '${process.execPath}' '${bin}' --home '${place.home}' tools >/dev/null; [ "$before" = "$(stty -g)" ] && echo same`,
          tty: true,
          yield_time_ms: 0,
        }),
      )
      expect(output).toMatch(/same/)
    },
  ],
  [
    '78',
    'tools/ module layout',
    ({ kernel }) =>
      expect(
        kernel
          .list()
          .filter(({ tool }) => tool === 'unified_file')
          .map(({ slot }) => slot)
          .sort(),
      ).toEqual(
        ['copy', 'delete', 'edit', 'move', 'patch', 'read', 'rename', 'write'].map((name) => `unified_file/${name}`),
      ),
  ],
  [
    '81',
    'cache module',
    each(async (place) => {
      await outputOf(place, 'unified_file', { action: 'read', path: 'a.txt' })
      await place.write('a.txt', 'changed\n')
      await gives('unified_file', { action: 'read', path: 'a.txt' }, { content: 'changed\n' })(place)
      await place.write('a.txt', 'one\ntwo\nthree\n')
    }),
    'Caches of results',
  ],
  [
    '83',
    'ripgrep-backed search manager',
    gives('unified_search', { action: 'grep', pattern: 'one' }, { backend: 'ripgrep', matches: [{ file: 'a.txt' }] }),
  ],
  [
    '84',
    'file operations async + cached',
    async ({ call }) =>
      expect(
        (
          await Promise.all(Array.from({ length: 20 }, () => call('unified_file', { action: 'read', path: 'a.txt' })))
        ).every(({ ok }) => ok),
      ).toBe(true),
    'Caches of results',
  ],
  [
    '85',
    'command execution in 3 modes',
    each(
      gives('run_terminal_cmd', { command: 'echo a' }, { mode: 'pty', output: /a/ }),
      gives('run_terminal_cmd', { command: 'echo a', mode: 'terminal' }, { stdout: 'a\n' }),
      gives('run_terminal_cmd', { command: 'echo a', mode: 'streaming' }, { stdout: 'a\n' }),
    ),
  ],
  [
    '86',
    'registry: coordination and declarations',
    ({ kernel }) =>
      expect(
        kernel.tools().every(({ name, description, input }) => name && description && (input as any).type === 'object'),
      ).toBe(true),
  ],
  [
    '88',
    'Tool: execute, name, description',
    own(
      each(
        (place) => expect(listed(place, 'my_tool')).toMatchObject({ name: 'my_tool', description: 'My custom tool.' }),
        gives('my_tool', {}, { ran: 'mode1' }),
      ),
    ),
  ],
  [
    '94',
    'ModeTool: supported_modes, execute_mode',
    own(
      each(
        (place) => expect(listed(place, 'my_tool').input.properties.mode.enum).toEqual(['mode1', 'mode2']),
        gives('my_tool', { mode: 'mode2' }, { ran: 'mode2' }),
      ),
    ),
  ],
  [
    '99',
    'CacheableTool',
    async (place) => {
      const before = await outputOf(place, 'unified_search', { action: 'grep', pattern: 'fresh' })
      await place.write('fresh.txt', 'fresh\n')
      await gives(
        'unified_search',
        { action: 'grep', pattern: 'fresh' },
        { total_matches: before.total_matches + 1 },
      )(place)
    },
    'Caches of results',
  ],
  [
    '102',
    'cancellation pipeline',
    async ({ call }) => {
      const stop = new AbortController()
      const answer = call('unified_search', { action: 'grep', pattern: 'crowd' }, { signal: stop.signal })
      stop.abort()
      expect(await answer).toMatchObject({ ok: false, error: { code: 'VT_CALL_ABORTED' } })
    },
  ],
  [
    '103',
    'ripgrep primary, fallback when unavailable',
    ({ kernel }) =>
      expect(kernel.list().find(({ slot }) => slot === 'unified_search/grep')!.chain).toEqual([
        'builtin:unified_search_grep',
        'builtin:grep_javascript',
      ]),
  ],
  [
    '104',
    'glob filters, hidden, context lines',
    each(
      gives(
        'unified_search',
        { action: 'grep', pattern: 'one', globs: '**/*.ts', include_hidden: true },
        { matches: [{ file: '.hidden/x.ts' }] },
      ),
      gives(
        'unified_search',
        { action: 'grep', pattern: 'two', context_lines: 1 },
        { matches: [{ before: ['one'], after: ['three'] }] },
      ),
    ),
  ],
  [
    '105',
    'workspace boundaries enforced',
    each(
      refuses('unified_search', { action: 'grep', pattern: 'x', path: '../..' }, { code: 'VT_PATH_OUTSIDE' }),
      refuses('unified_file', { action: 'read', path: '/etc/passwd' }, { code: 'VT_PATH_OUTSIDE' }),
      async (place) => {
        symlinkSync('/etc', join(place.root, 'out'))
        expect((await errorOf(place, 'unified_file', { action: 'read', path: 'out/passwd' })).code).toMatch(/^VT_PATH_/)
      },
    ),
  ],
  [
    '106',
    'one source of truth for content search',
    async ({ call }) =>
      expect(((await call('grep_file', { pattern: 'two' })) as any).output.matches).toEqual(
        ((await call('unified_search', { action: 'grep', pattern: 'two' })) as any).output.matches,
      ),
  ],
  [
    '107',
    'list_files is discovery only',
    async (place) => expect(JSON.stringify(await outputOf(place, 'list_files', { path: '.' }))).not.toContain('three'),
  ],
  [
    '108',
    'file listing, metadata, traversal workspace-scoped',
    each(
      gives(
        'unified_search',
        { action: 'list', response_format: 'detailed', path: 'src' },
        { items: [{ path: 'src/app.ts', size: 26, modified: /.+/ }] },
      ),
      refuses('unified_search', { action: 'list', path: '..' }, { code: 'VT_PATH_OUTSIDE' }),
    ),
  ],
  [
    '109',
    'async walking with cache integration',
    gives(
      'unified_search',
      { action: 'list', path: 'crowd', mode: 'recursive', max_results: 10 },
      { total: 300, items: { length: 10 } },
    ),
    'Caches of results',
  ],
  [
    '110',
    'path policy shared with commands',
    each(
      refuses('unified_exec', run({ command: 'ls', workdir: '..' }), { code: 'VT_PATH_OUTSIDE' }),
      apart({
        files: { 'secret.txt': 's' },
        mode: 'auto',
        config: { policy: { deny: ['Read(secret.txt)'], allow: ['Bash(cat *)'] }, sandbox: { mode: 'off' } } as never,
      })(
        each(
          refuses('unified_file', { action: 'read', path: 'secret.txt' }, { code: 'VT_POLICY_DENIED' }),
          refuses('unified_exec', run({ command: 'cat secret.txt' }), { code: /^VT_POLICY_/ }),
        ),
      ),
    ),
  ],
  [
    '111',
    'exit code and output capture',
    gives('unified_exec', run({ command: 'echo out; echo err >&2; exit 3' }), {
      exit_code: 3,
      stdout: 'out\n',
      stderr: 'err\n',
    }),
  ],
  [
    '112',
    'PTY session management',
    async (place) => {
      const { session_id } = await outputOf(
        place,
        'unified_exec',
        run({ command: 'cat', tty: true, yield_time_ms: 250 }),
      )
      await gives('unified_exec', { action: 'write', session_id, input: 'hi\n' }, { running: true })(place)
      await gives('unified_exec', { action: 'close', session_id }, { running: false })(place)
    },
  ],
  [
    '113',
    'streaming for long shell tasks with cancellation',
    async ({ call }) => {
      const stop = new AbortController()
      const heard: string[] = []
      const result = await call('unified_exec', run({ command: 'echo first; sleep 60', yield_time_ms: 0 }), {
        signal: stop.signal,
        onProgress: (progress) => (heard.push(JSON.stringify(progress)), stop.abort()),
      })
      expect([heard[0], (result as any).ok && (result as any).output.running]).toEqual([
        expect.stringContaining('first'),
        false,
      ])
    },
  ],
  ['114', 'internal traits, external protocols', own(gives('my_tool', {}))],
  [
    '115',
    'explicit provider dictionaries',
    apart({ config: { use: { 'unified_search/grep': false } } as never })(async ({ call }) =>
      expect(await call('unified_search', { action: 'grep', pattern: 'x' })).toMatchObject({ ok: false }),
    ),
  ],
  [
    '116',
    'mode-based execution',
    each(
      gives('list_files', { mode: 'recursive', path: 'src' }),
      gives('grep_search', { mode: 'fuzzy', pattern: 'main', fuzzy_threshold: 0.3 }),
    ),
  ],
  [
    '117',
    'simplicity first',
    () =>
      expect(
        readdirSync(join(root, 'core/kernel')).reduce(
          (sum, name) => sum + readFileSync(join(root, 'core/kernel', name)).length,
          0,
        ),
      ).toBeLessThanOrEqual(133 * 1024),
  ],
  [
    '118',
    'data-oriented design',
    each(
      gives('unified_search', { pattern: 'two' }, { matches: [{ file: 'a.txt' }] }),
      gives('unified_file', { path: 'a.txt' }, { content: /one/ }),
    ),
  ],
  [
    '119',
    'backward compatibility: all existing APIs functional',
    each(
      ...Object.entries({
        read_file: { path: 'a.txt' },
        grep_file: { pattern: 'one' },
        list_files: {},
        run_terminal_cmd: { command: 'true' },
        bash: { command: 'true' },
        run_pty_cmd: { command: 'true' },
        list_pty_sessions: {},
        unified_search: { action: 'intelligence', pattern: 'one' },
      }).map(([tool, input]) => gives(tool, input)),
    ),
  ],
  [
    '120',
    'measured optimisation',
    () =>
      expect(
        readdirSync(join(root, 'test/bench')).filter((name) => name.endsWith('.mjs') || name.includes('bench')).length,
      ).toBeGreaterThan(5),
  ],
  [
    '121',
    'clear separation',
    ({ kernel }) => {
      const primaries = kernel
        .list()
        .filter(({ tool }) => tool.startsWith('unified_'))
        .map(({ chain }) => JSON.stringify(chain[0]))
      expect(new Set(primaries).size).toBe(primaries.length)
    },
  ],
  [
    '122',
    'handles before clever ownership',
    async (place) => {
      const { session_id } = await outputOf(place, 'unified_exec', run({ command: 'sleep 60', background: true }))
      expect(session_id).toMatch(/^run-[0-9a-f]{8}$/)
      await gives('unified_exec', { action: 'close', session_id })(place)
    },
  ],
  ['124', 'writing an own tool in a few lines', own(gives('my_tool', {}, { ran: 'mode1' }))],
  [
    '138',
    'two modes of an own tool',
    own(
      each(
        gives('my_tool', { mode: 'mode1' }, { ran: 'mode1' }),
        gives('my_tool', { mode: 'mode2' }, { ran: 'mode2' }),
      ),
    ),
  ],
  [
    '144',
    '"Unsupported mode" error',
    own(refuses('my_tool', { mode: 'mode3' }, { code: 'VT_INPUT_INVALID', message: /mode1.*mode2/ })),
  ],
  [
    '147',
    '77 % complexity reduction',
    () =>
      expect(
        Math.max(
          ...readdirSync(join(root, 'core'), { recursive: true, encoding: 'utf8' })
            .filter((name) => name.endsWith('.ts') && !name.includes('settings_types'))
            .map((name) => readFileSync(join(root, 'core', name)).length),
        ),
      ).toBeLessThanOrEqual(17_500),
  ],
  [
    '148',
    'enhanced by modes',
    gives('unified_search', { action: 'list', mode: 'tree', path: 'src' }, { tree: /app\.ts/ }),
  ],
  [
    '149',
    '100 % backward compatible',
    each(
      gives('create_pty_session', { command: 'true' }),
      gives('unified_search', { action: 'intelligence', operation: 'workspace_symbols' }),
    ),
  ],
  [
    '150',
    'protocol-friendly extension',
    apart({ config: { mcp: { servers: { s: { command: process.execPath, args: ['-e', server] } } } } as never })(
      async ({ kernel, call }) => {
        await call('mcp__s__greet', {})
        expect(kernel.tools().map(({ name }) => name)).toContain('mcp__s__greet')
      },
    ),
  ],
  [
    '151',
    'intelligent caching',
    async (place) => {
      const first = await outputOf(place, 'unified_search', { action: 'outline', path: 'src/app.ts' })
      await place.write('src/app.ts', 'export function other() {}\n')
      expect(
        JSON.stringify(await outputOf(place, 'unified_search', { action: 'outline', path: 'src/app.ts' })),
      ).toContain('other')
      await place.write('src/app.ts', 'export function main() {}\n')
      expect(JSON.stringify(await outputOf(place, 'unified_search', { action: 'outline', path: 'src/app.ts' }))).toBe(
        JSON.stringify(first),
      )
    },
    'Caches of results',
  ],
  [
    '160',
    'execution telemetry captured',
    async (place) => {
      await place.call('unified_exec', run({ command: 'exit 3' }), { session: 'telemetry' })
      await place.kernel.endSession('telemetry')
      expect(JSON.parse((await place.read('.vtcode/sessions/telemetry/calls.jsonl'))!.trim())).toMatchObject({
        slot: 'unified_exec/run',
        ms: expect.any(Number),
      })
    },
  ],
  [
    '161',
    'self-play hooks: search, diff, patch tools',
    each(gives('unified_search', { action: 'grep', pattern: 'two' }), async (place) => {
      await place.write('play.txt', 'one\ntwo\n')
      await gives('apply_patch', {
        input: '*** Begin Patch\n*** Update File: play.txt\n@@\n one\n-two\n+2\n*** End Patch\n',
      })(place)
      await gives(
        'unified_file',
        { action: 'edit', path: 'play.txt', old_str: '2', new_str: 'zwei' },
        { diff: /-2\n\+zwei/ },
      )(place)
    }),
  ],
  [
    '162',
    'long-context support in the provider layer',
    async () => {
      const s = await scene([{ content: 'ok' }], { provider: { context_window: 1_000_000 } })
      await s.run(`a long task ${'word '.repeat(60_000)}`)
      expect(s.peer.bodies).toHaveLength(1)
    },
  ],
]
