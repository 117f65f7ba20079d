import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Config, Mode } from 'vtcode'
import { rounds } from '../../../support/exec.js'

// A hint names a mode or rules that would let a call run. This file follows each hint: the call then runs
// (or a chat asks about it), and no other call does.
const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']
let plugins: TempWorkspace
const done = 'export default () => ({ ok: true, output: {} })\n'
const slot = (action: string, effects: string, properties: string): string =>
  `action: demo/${action}\neffects: [${effects}]\ndescription: Does nothing.\nmodule: ./done.js\ninput: { properties: { ${properties} } }\n`
const path = 'path: { type: string, format: workspace-path }, destination: { type: string, format: workspace-path }'
const commandInput =
  'command: { anyOf: [{ type: string }, { type: array, items: { type: string } }], format: command }, shell: { type: string }'
beforeAll(async () => {
  plugins = await tempWorkspace({
    'done.js': done,
    'put.yaml': slot('put', 'write', path),
    'run.yaml': slot('run', 'exec', commandInput),
    'start.yaml': slot('start', 'exec', 'x: { type: string }'),
    'call.yaml': slot('call', 'net', 'x: { type: string }'),
    'both.yaml': slot('both', 'write, net', path),
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const none: Config = { sandbox: { mode: 'off' }, automation: { full_auto: { enabled: true, allowed_tools: [] } } }
const boot = (mode: Mode, policy: Config['policy'] = {}): Promise<Booted> =>
  bootKernel({
    mode,
    config: { ...none, policy },
    manifests: [plugins.root],
    files: { 'a.txt': 'a\n', 'src/b.ts': '', '.mcp.json': '{}' },
  })
type Input = Record<string, unknown>
const explained = (made: Booted, input: Input, surface = 'call') => made.kernel.explain('demo', input, { surface })

/** Reads the mode and the rules that a hint recommends. */
function said(hint = ''): { mode?: Mode; rules: string[]; together: boolean } {
  const mode = /(?:`--mode |\/mode )([a-z-]+)/.exec(hint)?.[1] as Mode | undefined
  const list = /the rules? (.+?) to policy\.allow/.exec(hint)?.[1] ?? ''
  return {
    ...(mode && { mode }),
    rules: [...list.matchAll(/'([^']+)'/g)].map(([, rule]) => rule!),
    together: /, and the user adds/.test(hint),
  }
}

const words = [
  'make',
  'npm install',
  'node build.js',
  'sudo cat /etc/shadow',
  'sudo make install',
  'cat /etc/shadow',
  'env cat /etc/passwd',
  'timeout 5 make',
  'nice -n 5 make all',
  'git push origin main',
  'git commit -m x',
  'rm -rf build',
  'python3 x.py',
  'tsc -p .',
  'find . -delete',
  'git status; npm install',
]
const several = [
  'node build.js && node test.js',
  'ls | node x.js',
  'make; make test; make install',
  'npm ci && npm test && npm run build',
  'git add . && git commit -m x && git push',
  'if make; then npm test; fi',
  'sudo make && cat /etc/shadow',
]
const untold = [
  'node build*',
  "python3 -c 'print(1)'",
  'git commit -m "fix the thing"',
  'NODE_OPTIONS=a node build.js',
  './build.sh',
  'make > out.txt',
  'node x.js $HOME',
  'node $X',
  'cat $(node x.js)',
  'make < /etc/passwd',
  'curl -s http://localhost | sh',
  '$X a',
  'eval "$X"',
  'sh x.sh',
  'bash -c "npm i"',
  'f() { make; }; f',
  '[[ a == b ]] && make',
  'not-installed-anywhere x',
  'ls &&',
  'xargs touch < a.txt',
  `node ${'x'.repeat(200)}`,
  'true; '.repeat(2000),
  'make 1; make 2; make 3; make 4; make 5; make 6; make 7; make 8',
  'cp a.txt .git/config',
  'echo x > .mcp.json',
  'make; $X',
]
const commands = [...words, ...several, ...untold, 'ls', 'cat a.txt', 'git status', 'ls | wc -l']
const calls: Input[] = [
  ...commands.map((command) => ({ action: 'run', command })),
  { action: 'run', command: ['node', 'build.js'] },
  { action: 'run', command: ['node', 'build it.js'] },
  { action: 'run', command: 'make', shell: 'zsh' },
  ...['x', 'src/b.ts', 'new/[id]/*.ts', 'a b (1).txt', '.mcp.json', '.git/config', '.vtcode/plans/a.md'].map(
    (file) => ({ action: 'put', path: file }),
  ),
  { action: 'put', path: 'a.txt', destination: 'src/c.txt' },
  { action: 'put' },
  { action: 'both', path: 'x' },
  { action: 'start' },
  { action: 'call' },
]
const rank = { run: 0, ask: 1, deny: 2, refused: 3 }

describe('permission hints', () => {
  it.each(modes)(
    'recommends in mode %s only what lets the call run',
    async (mode) => {
      await using made = await boot(mode)
      const other: Partial<Record<Mode, Booted>> = {}
      for (const [at, input] of calls.entries()) {
        const { verdict, hint } = await explained(made, input)
        if (verdict === 'run') continue
        const { mode: asked, rules, together } = said(hint)
        expect([input, hint]).toEqual([input, expect.stringMatching(/\S/)])
        expect([input, hint, hint?.includes('demo/run')]).toEqual([input, hint, false])
        const where = asked && (other[asked] ??= await boot(asked))
        if (asked && !together && !hint!.includes(', where'))
          expect([input, hint, (await explained(where!, input)).verdict]).toEqual([input, hint, 'run'])
        if (asked && hint!.includes(', where'))
          expect([input, hint, (await explained(where!, input)).verdict]).toEqual([input, hint, 'ask'])
        // The short form follows the rules for an input in two of the four modes.
        if (rules.length === 0 || rounds((at + modes.indexOf(mode)) % 2 === 1, false)) continue
        await using allowed = await boot(together ? asked! : mode, { allow: rules })
        expect([input, hint, (await explained(allowed, input)).verdict]).toEqual([input, hint, 'run'])
      }
      for (const one of Object.values(other)) await one[Symbol.asyncDispose]()
    },
    300_000,
  )

  it('names no rule that allows another call or that the call does not need', async () => {
    await using made = await boot('auto')
    await using strict = await boot('ask')
    for (const input of calls) {
      const { hint } = await explained(made, input)
      const { rules } = said(hint)
      for (const rule of rules) {
        expect(rule).not.toMatch(/^Bash\(.*[*?].*\)$/)
        if (rules.length > 1) {
          await using fewer = await boot('auto', { allow: rules.filter((one) => one !== rule) })
          expect([input, rule, (await explained(fewer, input)).verdict]).toEqual([input, rule, 'ask'])
        }
      }
      if (rules.length === 0 || input['action'] === 'start' || input['action'] === 'call' || input['action'] === 'both')
        continue
      await using allowed = await boot('auto', { allow: rules })
      const others: Input[] = [
        { action: 'run', command: 'node other.js' },
        { action: 'run', command: `${String([input['command'] ?? 'x'].flat().join(' '))} more` },
        { action: 'call' },
        { action: 'start' },
      ]
      for (const one of others)
        expect([rules, one, (await explained(allowed, one)).verdict]).toEqual([
          rules,
          one,
          (await explained(made, one)).verdict,
        ])
    }
    expect(said((await explained(strict, { action: 'put', path: 'src/b.ts' })).hint)).toEqual({
      mode: 'auto',
      rules: ['Edit(/src/b.ts)'],
      together: false,
    })
    const page = async (url: string) =>
      said((await strict.kernel.explain('unified_search', { action: 'web', url })).hint)
    expect(await page('https://example.org/a')).toEqual({ rules: ['WebFetch(domain:example.org)'], together: false })
    expect(said((await explained(strict, { action: 'start' })).hint)).toEqual({
      rules: ['demo/start'],
      together: false,
    })
  }, 300_000)

  it.each<[string, string[]]>([
    ['node build.js', ['Bash(node build.js)']],
    ['node build.js && node test.js', ['Bash(node build.js)', 'Bash(node test.js)']],
    ['ls | node x.js', ['Bash(node x.js)']],
    ['node x.js; ls; node y.js', ['Bash(node x.js)', 'Bash(node y.js)']],
    ['env node x.js', ['Bash(env node x.js)', 'Bash(node x.js)']],
    ['node build*', []],
    ['make > out.txt', []],
    ['sudo cat /etc/shadow', []],
  ])('names for `%s` the rules %j', async (command, rules) => {
    await using made = await boot('auto')
    const { hint } = await explained(made, { action: 'run', command })
    expect(said(hint).rules).toEqual(
      command.startsWith('sudo') && said(hint).rules.length > 0
        ? ['Bash(sudo cat /etc/shadow)', 'Bash(cat /etc/shadow)']
        : rules,
    )
    if (rules.length === 0 && said(hint).rules.length === 0)
      expect(hint).toMatch(/the user answers the question, at a terminal/)
  })

  it('recommends no mode that the settings forbid', async () => {
    await using made = await boot('ask', { max_mode: 'ask' })
    for (const input of calls) expect((await explained(made, input)).hint ?? '').not.toMatch(/--mode|\/mode/)
  })

  it('sends a chat user to the asking mode and names further needs of plan mode elsewhere', async () => {
    await using made = await boot('plan')
    expect((await explained(made, { action: 'run', command: 'npm install' }, 'chat')).hint).toMatch(
      /To allow it: switch to \/mode auto, where the user answers the question\.$/,
    )
    expect((await explained(made, { action: 'run', command: 'npm install' })).hint).toMatch(
      /To allow it: run with `--mode auto`, and the user adds the rule 'Bash\(npm install\)' to policy\.allow/,
    )
    expect((await explained(made, { action: 'put', path: 'x' }, 'chat')).hint).toMatch(
      /To allow it: switch to \/mode auto\.$/,
    )
  })
})

describe('full-auto', () => {
  it('judges in full-auto no stricter than in auto, except commands with an unknown program', async () => {
    await using auto = await boot('auto')
    await using full = await boot('full-auto')
    for (const input of calls) {
      const [there, here] = [await explained(auto, input), await explained(full, input)]
      if (there.verdict === 'run')
        expect([input, here.verdict]).toEqual([
          input,
          input['action'] === 'put' ? expect.stringMatching(/run|ask/) : 'run',
        ])
      else if (rank[here.verdict] > rank[there.verdict])
        expect([input, here.reason]).toEqual([
          input,
          expect.stringMatching(
            /cannot be determined|^The command may change auto-executed config without a sandbox: /,
          ),
        ])
    }
  })

  it('asks in full-auto when a person can answer, and otherwise names the list', async () => {
    await using full = await boot('full-auto')
    const refused = await full.call('demo', { action: 'run', command: 'make' })
    expect(refused).toMatchObject({
      ok: false,
      error: {
        code: 'VT_POLICY_NEEDS_APPROVAL',
        message: expect.stringContaining(
          'Full-auto may not run `make`: automation.full_auto.allowed_tools does not list it',
        ),
        hint: expect.stringMatching(/Bash\(make\).*automation\.full_auto\.allowed_tools/),
      },
    })
    expect((await full.call('demo', { action: 'run', command: 'make' }, { approve: () => true })).ok).toBe(true)
    for (const command of ['$X a', 'eval "$X"', 'ls &&', 'true; '.repeat(2000)])
      expect([command, await full.call('demo', { action: 'run', command }, { approve: () => true })]).toMatchObject([
        command,
        { ok: false, error: { code: 'VT_POLICY_DENIED' } },
      ])
  })
})
