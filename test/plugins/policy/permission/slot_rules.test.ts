import { spawnSync } from 'node:child_process'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import type { Config, Mode } from 'vtcode'
import { harmless, removing } from '../../../support/command_lines.js'
import { rounds } from '../../../support/exec.js'
import { fc, runs } from '../../../support/property.js'

// A rule that allows a slot, and the full-auto list, do not choose programs. A program that a command rule denies does
// not run through them in any spelling, and harmless lines still run.
const modes: Mode[] = ['ask', 'auto', 'full-auto']
const files = { 'a.txt': 'a\n', 'keep.txt': 'keep\n', 'src/b.ts': '' }
const policy = { deny: ['Bash(rm *)'], allow: ['unified_exec/run'] }
const boot = (mode: Mode, more: Config['policy'] = policy): Promise<Booted> =>
  bootKernel({
    mode,
    config: {
      sandbox: { mode: 'off' },
      policy: more!,
      automation: { full_auto: { enabled: true, allowed_tools: ['unified_exec/run'] } },
    },
    files,
  })
const lines = (from: fc.Arbitrary<string>, seed?: number): string[] => [
  ...new Set(fc.sample(from, { numRuns: runs(rounds(240, 600)), ...(seed !== undefined && { seed }) })),
]
const verdictOn = async ({ kernel }: Booted, command: string | string[], more: object = {}): Promise<string> =>
  (await kernel.explain('unified_exec', { action: 'run', command, ...more })).verdict

describe('denied program in an allowed slot', () => {
  it.each([...modes, 'plan' as const])(
    'runs a denied program by no spelling in mode %s',
    async (mode) => {
      await using made = await boot(mode)
      const spellings = lines(removing)
      expect(spellings.length).toBeGreaterThan(runs(rounds(200, 500)))
      for (const command of spellings) {
        const verdict = await verdictOn(made, command)
        // Allowed lines really run, so the file shows whether the verdict was right.
        if (verdict === 'run' || spellings.indexOf(command) % 50 === 0)
          await made.call('unified_exec', { action: 'run', command, timeout_secs: 5 })
        expect([command, await made.read('keep.txt')]).toEqual([command, 'keep\n'])
        expect([command, verdict]).toEqual([command, mode === 'full-auto' ? 'deny' : expect.stringMatching(/ask|deny/)])
      }
    },
    300_000,
  )

  it('contains spellings that nearly all remove the file when bash runs them unjudged', async () => {
    await using made = await boot('auto')
    const proved = lines(removing, 7)
      .slice(0, rounds(40, 80))
      .map((command) => {
        writeFileSync(join(made.root, 'keep.txt'), 'keep\n')
        spawnSync('bash', ['-c', command], {
          cwd: made.root,
          timeout: 5000,
          input: '',
          env: { PATH: process.env.PATH!, HOME: made.root },
        })
        return !existsSync(join(made.root, 'keep.txt'))
      })
    expect(proved.filter(Boolean).length).toBeGreaterThan(proved.length * 0.85)
  }, 300_000)

  it('runs no denied program by a variable, an input or a shell of the call', async () => {
    await using made = await boot('auto')
    const more: [string | string[], object][] = [
      ['$X keep.txt', { env: { X: 'rm' } }],
      ['ls', { env: { 'BASH_FUNC_ls%%': '() { rm keep.txt; }' } }],
      ['echo $((x))', { env: { x: 'a[$(rm keep.txt)]' } }],
      ['set -x; ls', { env: { PS4: '$(rm keep.txt)' } }],
      ['PS4=$X; set -x; ls', { env: { X: '$(rm keep.txt)' } }],
      ["printf -v x %b 'a[\\0044(rm keep.txt)]'; echo $((x))", {}],
      ['sh', { input: 'rm keep.txt\n' }],
      ['bash -s', { input: 'X=rm; $X keep.txt\n' }],
      ['read -r x; $x', { input: 'rm keep.txt\n' }],
      ['read -r x; ((x))', { input: 'a[$(rm keep.txt)]\n' }],
      ['=rm keep.txt', { shell: 'zsh' }],
      [['env', '-S', 'rm keep.txt'], {}],
      [['bash', '-c', '$0 keep.txt', 'rm'], {}],
      [['find', '/bin/rm', '-exec', '{}', 'keep.txt', ';'], {}],
      ['ls', { env: { PROMPT_COMMAND: 'rm keep.txt' } }],
    ]
    for (const [command, others] of more)
      expect([command, others, await verdictOn(made, command, others)]).toEqual([
        command,
        others,
        expect.stringMatching(/ask|deny/),
      ])
  })
})

describe('harmless line next to a denied program', () => {
  it.each(modes)(
    'runs a harmless line unasked in an allowed slot in mode %s',
    async (mode) => {
      await using made = await boot(mode)
      const twins = lines(harmless)
      expect(twins.length).toBeGreaterThan(runs(rounds(200, 500)))
      for (const command of twins) expect([command, await verdictOn(made, command)]).toEqual([command, 'run'])
    },
    300_000,
  )

  it('contains lines that are valid in bash', () => {
    for (const command of lines(harmless, 7).slice(0, rounds(50, 100)))
      expect([command, spawnSync('bash', ['-n', '-c', command], { encoding: 'utf8' }).stderr]).toEqual([command, ''])
  })
})

describe('line with an unknown program', () => {
  it('runs by a slot rule while no rule is about commands, and never in full-auto', async () => {
    const open = { allow: ['unified_exec/run'] }
    await using auto = await boot('auto', open)
    await using full = await boot('full-auto', open)
    for (const command of ['$X a', 'eval "$X"', `true ${' '.repeat(10_000)}`, 'echo a | sh', 'ls &&'])
      expect([command, await verdictOn(auto, command), await verdictOn(full, command)]).toEqual([
        command,
        'run',
        'deny',
      ])
  })

  it.each([
    ['Bash(rm *)', 'deny'],
    ['Bash(rm *)', 'ask'],
    [{ id: 'no_rm', program: 'rm', verdict: 'deny' }, 'commands'],
  ])('asks about a line with an unknown program while the rule %j exists under %s', async (rule, list) => {
    await using made = await boot('auto', {
      allow: ['unified_exec', 'Bash', 'exec'],
      [list]: [rule],
    } as Config['policy'])
    const result = await made.call('unified_exec', { action: 'run', command: '$X keep.txt' })
    expect(result).toMatchObject({
      ok: false,
      error: {
        code: 'VT_POLICY_NEEDS_APPROVAL',
        message: expect.stringContaining('cannot be determined from its text') as string,
        hint: expect.stringContaining('plain words') as string,
      },
    })
    expect((await made.call('unified_exec', { action: 'run', command: '$X a.txt' }, { approve: () => true })).ok).toBe(
      true,
    )
  })
})

describe('large rule sets', () => {
  it('evaluates 10,000 rules and slow patterns once a line', async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => `Bash(tool${at} --flag *)`)
    const slow = [
      `Bash(${'* '.repeat(1900)}end)`,
      `Bash(${'a*'.repeat(2000)}b)`,
      `Read(${'**/'.repeat(500)}x)`,
      `Read(${'*a'.repeat(1000)}b)`,
      `Bash(${'(a*)'.repeat(100)}$)`,
      `Bash(x ${'a '.repeat(2000)}*)`,
    ]
    await using made = await boot('auto', { deny: [...many, ...slow], allow: ['unified_exec/run'] })
    for (const command of [
      `ls ${'a '.repeat(1000)}`,
      `cat ${'a'.repeat(3000)}`,
      `$(x) ${'a '.repeat(1000)}`,
      `x ${'a '.repeat(1000)}$X`,
      `cat ${'a/'.repeat(300)}b`,
    ])
      expect([command.slice(0, 20), await verdictOn(made, command)]).toEqual([
        command.slice(0, 20),
        expect.stringMatching(/run|ask|deny/),
      ])
    expect([
      await verdictOn(made, 'tool9999 --flag x'),
      await verdictOn(made, 'sudo tool0 --flag'),
      await verdictOn(made, 'tool10000 --flag'),
    ]).toEqual(['deny', 'deny', 'run'])
  })
})
