import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { Mode, RightsScope } from 'vtcode'
import { bootKernel } from 'vtcode/test'
import { rounds } from '../../support/exec.js'
import { fc } from '../../support/property.js'

const file = (action: string, path: string, more: object = {}) => ['unified_file', { action, path, ...more }] as const
const run = (command: string) => ['unified_exec', { action: 'run', command }] as const
const write = { content: 'x', mode: 'overwrite' }
const calls: readonly (readonly [tool: string, input: object])[] = [
  ...['src/a.txt', 'other/b.txt', '.env', 'link/b.txt', '../x'].map((path) => file('read', path)),
  ...['src/n.txt', 'other/n.txt', '.git/config', '.vtcode/x.json', 'link/n.txt'].map((path) =>
    file('write', path, write),
  ),
  file('copy', 'src/a.txt', { destination: 'other/copy.txt', overwrite: true }),
  file('edit', 'src/a.txt', { old_str: 'x', new_str: 'x' }),
  ['apply_patch', { patch: '*** Begin Patch\n*** Add File: other/p.txt\n+x\n*** End Patch' }],
  ...['ls', 'touch src/t', 'touch other/t', 'node -e 1', 'cat .env'].map(run),
  ['unified_exec', { action: 'code', language: 'node', code: '1' }],
  ['unified_exec', { action: 'code', code: "return await file.write({ path: 'other/deep.txt', content: 'x' })" }],
  ['unified_search', { action: 'grep', pattern: 'x' }],
  ['read_file', { path: 'src/a.txt' }],
  ['agents', { action: 'spawn', task: 'x' }],
]
const names = ['read', 'write', 'exec', 'Read', 'Edit', 'Bash', 'unified_file', 'unified_file/read', 'unified_exec']
const scope: fc.Arbitrary<RightsScope> = fc.record(
  {
    tools: fc.oneof(
      fc
        .uniqueArray(fc.constantFrom(...names, 'apply_patch'), { maxLength: 5 })
        .map((all) => [...all, 'unified_exec/code']),
      fc.constantFrom(['Except(write)'], ['Except(unified_file)'], ['Except(apply_patch)']),
    ),
    writes: fc.constantFrom(['src/**'], ['**'], ['src/a.txt', 'other/**']),
  },
  { requiredKeys: [] },
)
const modes: readonly Mode[] = ['plan', 'ask', 'auto', 'full-auto']
const rights = fc.record({ mode: fc.constantFrom(...modes), only: scope }, { requiredKeys: ['mode'] })

it(
  'permits a script nothing that a direct call with the same rights could not do',
  { timeout: 3_600_000 },
  async () => {
    await using booted = await bootKernel({
      files: { 'src/a.txt': 'x\n', 'other/b.txt': 'x\n', '.env': 'A=x\n' },
      config: {
        policy: { allow: ['Bash(touch *)'] },
        sandbox: { mode: 'off' },
        automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec'] } },
      } as never,
    })
    symlinkSync('other', join(booted.root, 'link'))
    const counts = { done: 0, refused: 0 }
    const script = fc.array(fc.constantFrom(...calls), { minLength: 1, maxLength: 4 })
    let session = 0
    await fc.assert(
      fc.asyncProperty(rights, script, fc.boolean(), async (how, wanted, inParallel) => {
        const direct = await Promise.all(
          wanted.map(async ([tool, input]) => (await booted.kernel.explain(tool, input, how)).verdict),
        )
        const code = `const make = ([tool, given]) => vtcode.call(tool, given).then((value) => value.exit_code === 1 ? value.stderr : 'ok', (error) => error.code)
const wanted = JSON.parse(input)
${inParallel ? 'return await Promise.all(wanted.map(make))' : 'const seen = []\nfor (const one of wanted) seen.push(await make(one))\nreturn seen'}`
        const options = { ...how, session: `s${session++}` }
        const input = { action: 'code', code, input: JSON.stringify(wanted) }
        const made: any = await booted.kernel.call('unified_exec', input, options)
        await booted.kernel.endSession(options.session)
        // Rights without this action permit no script at all.
        if (!made.ok) return void expect(made.error.code).toMatch(/^VT_(POLICY|TOOL)_/)
        const seen: string[] = made.output.result
        for (const [at, one] of seen.entries()) {
          const is_code = wanted[at]![1] as { language?: string; code?: string }
          if (one === 'ok') expect([wanted[at], how, direct[at]]).toEqual([wanted[at], how, 'run'])
          // A script within the script fails by its inner call, which has the same rights.
          if (direct[at] !== 'run' && is_code.code === undefined) expect(one).not.toBe('ok')
          counts[one === 'ok' ? 'done' : 'refused'] += 1
        }
      }),
      { numRuns: rounds(25, 2000) },
    )
    expect(counts.done).toBeGreaterThan(10)
    expect(counts.refused).toBeGreaterThan(10)
  },
)
