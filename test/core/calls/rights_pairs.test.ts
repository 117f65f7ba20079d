import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Mode, Result, RightsScope } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { fc, runs } from '../../support/property.js'

/** Forty calls of every kind of effect, by own names, actions and aliases. */
const file = (action: string, path: string, more: object = {}) => ['unified_file', { action, path, ...more }] as const
const run = (command: string) => ['unified_exec', { action: 'run', command }] as const
const patch = (path: string) =>
  ['apply_patch', { patch: `*** Begin Patch\n*** Add File: ${path}\n+x\n*** End Patch` }] as const
const places = ['src/new.txt', 'other/new.txt', '.git/config', '.vtcode/x.json', 'link/new.txt']
const calls: readonly (readonly [tool: string, input: object])[] = [
  ...['src/a.txt', 'other/b.txt', '.env', 'link/b.txt'].map((path) => file('read', path)),
  ...places.map((path) => file('write', path, { content: 'x', mode: 'overwrite' })),
  ...places.map(patch),
  ...['src/a.txt', 'other/b.txt'].map((path) => file('edit', path, { old_str: 'x', new_str: 'y' })),
  file('copy', 'src/a.txt', { destination: 'other/copy.txt' }),
  file('move', 'src/a.txt', { destination: 'other/moved.txt' }),
  file('delete', 'other/b.txt'),
  ...['ls', 'cat src/a.txt', 'git status', 'touch src/t', 'cp src/a.txt other/t', 'echo x > other/t'].map(run),
  ...['rm -f src/t', 'node -e 1', 'printf %s x', 'cat .env', 'x=1; ls $x', 'git commit -m x'].map(run),
  ['unified_exec', { action: 'code', language: 'javascript', code: '1' }],
  ['unified_search', { action: 'list' }],
  ['unified_search', { action: 'grep', pattern: 'x' }],
  ['read_file', { path: 'src/a.txt' }],
  ['create_file', { path: 'other/made.txt', content: '' }],
  ['run_terminal_cmd', { command: 'touch other/t' }],
]
/** From the strictest to the loosest. */
const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']
const verdicts = ['run', 'ask', 'deny', 'refused']
const names = ['read', 'write', 'exec', 'Read', 'Edit', 'Bash', 'unified_file', 'unified_file/read', 'unified_exec']
const globs = [['src/**'], ['**'], ['src/a.txt', 'other/**'], ['src/**', '.vtcode/**']]
const scope: fc.Arbitrary<RightsScope> = fc.record(
  {
    tools: fc.oneof(
      fc.uniqueArray(fc.constantFrom(...names, 'apply_patch', 'unified_file/*'), { maxLength: 5 }),
      fc
        .uniqueArray(fc.constantFrom(...names), { minLength: 1, maxLength: 2 })
        .map((all) => [`Except(${all.join(', ')})`]),
    ),
    writes: fc.constantFrom(...globs),
  },
  { requiredKeys: [] },
)
const rights = fc.record({ mode: fc.constantFrom(...modes), only: scope }, { requiredKeys: ['mode'] })
const call = fc.constantFrom(...calls)
const caller = (name: string, effects: string): string =>
  `name: ${name}\ndescription: Calls.\neffects: [${effects}]\nmodule: ./caller.js\ninput: { properties: { tool: { type: string }, ` +
  'input: { type: object }, how: { type: object }, path: { type: string, format: workspace-path } } }\n'

describe('pairs of rights', () => {
  let plugin: TempWorkspace
  let one: Booted
  let session = 0
  beforeAll(async () => {
    plugin = await tempWorkspace({
      'reader.yaml': caller('reader', 'read'),
      'caller.yaml': caller('caller', 'read, write, exec'),
      'caller.js':
        'export default async ({ input: { tool, input, how } }, context) => ({ ok: true, output: { result: await context.call(tool, input, how) } })\n',
    })
    one = await bootKernel({
      manifests: [plugin.root],
      files: { 'src/a.txt': 'x\n', 'other/b.txt': 'x\n', '.env': 'A=x\n' },
      config: {
        policy: { allow: ['Bash(touch *)'] },
        sandbox: { mode: 'off' },
        automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec'] } },
      } as never,
    })
    symlinkSync('other', join(one.root, 'link'))
  })
  afterAll(async () => {
    await one[Symbol.asyncDispose]()
    await plugin[Symbol.asyncDispose]()
  })
  const explain = async ([tool, input]: (typeof calls)[number], how: object): Promise<string> =>
    (await one.kernel.explain(tool, input, how)).verdict

  it('judges no call less strictly in a stricter mode or with fewer rights', async () => {
    const pair = fc.record({
      mode: fc.nat(3),
      stricter: fc.nat(3),
      tools: fc
        .uniqueArray(fc.constantFrom(...names), { minLength: 1 })
        .chain((all) => fc.tuple(fc.constant(all), fc.subarray(all))),
      writes: fc.option(fc.constantFrom(...globs).chain((all) => fc.tuple(fc.constant(all), fc.subarray(all)))),
    })
    const seen = new Set<string>()
    await fc.assert(
      fc.asyncProperty(pair, call, async ({ mode, stricter, tools, writes }, wanted) => {
        const limit = (at: 0 | 1): RightsScope => ({ tools: tools[at], ...(writes && { writes: writes[at] }) })
        const wide = await explain(wanted, { mode: modes[mode], only: limit(0) })
        const narrow = await explain(wanted, { mode: modes[Math.min(mode, stricter)], only: limit(1) })
        seen.add(wide)
        expect(verdicts.indexOf(narrow), `${narrow} after ${wide}`).toBeGreaterThanOrEqual(verdicts.indexOf(wide))
      }),
      { numRuns: runs(250) },
    )
    expect([...seen]).toEqual(expect.arrayContaining(['run', 'ask', 'deny']))
  })

  it('permits no nested call that the rights of the outer call or its own rights forbid', async () => {
    let ran = 0
    await fc.assert(
      fc.asyncProperty(
        ...[fc.constantFrom('reader', 'caller'), rights, fc.option(rights, { nil: {} }), call],
        async (by, outer, inner, wanted) => {
          const [tool, input] = wanted
          const { tools } = outer.only ?? {}
          const open = tools && !tools[0]?.startsWith('Except') ? { ...outer.only, tools: [by, ...tools] } : outer.only
          const made = await one.kernel.call(
            by,
            { tool, input, how: inner, path: 'src/a.txt' },
            {
              ...outer,
              ...(open && { only: open }),
              session: `pair${++session}`,
              // A person allows the outer call and nothing else.
              approve: ({ call: { slot } }) => slot === by,
            },
          )
          const result = made.ok ? (made.output['result'] as Result) : made
          if (!result.ok && /^VT_(?:POLICY|PATH|PLUGIN)_/.test(result.error.code)) return
          ran++
          expect(await explain(wanted, outer), `${tool} ran`).toBe('run')
          if ('mode' in inner) expect(await explain(wanted, inner), `${tool} ran`).toBe('run')
        },
      ),
      { numRuns: runs(400) },
    )
    expect(ran).toBeGreaterThan(10)
  })
})
