import { execFileSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Config } from 'vtcode'
import { bin, surroundings } from '../../support/program.js'

// A rule that matches nothing protects nothing: every surface reports it with the nearest name.
const fixture = fileURLToPath(new URL('../../fixtures/mcp/server.mjs', import.meta.url))
let place: TempWorkspace
beforeAll(async () => {
  const tools = ['search', 'search_code', 'fetch'].map((name) => ({
    name,
    description: 'A tool.',
    inputSchema: { type: 'object' },
  }))
  place = await tempWorkspace({ 'tools.json': JSON.stringify(tools) })
})
afterAll(() => place[Symbol.asyncDispose]())

const server = () => ({ command: process.execPath, args: [fixture, place.root, ''], startup_timeout_secs: 20 })
const settings = (policy: object): Config =>
  ({ policy, mcp: { servers: { 'sequential-thinking': server(), docs: server() } } }) as Config
const boot = (policy: object): Promise<Booted> => bootKernel({ mode: 'auto', config: settings(policy) })
const told = ({ kernel }: Booted): [string, string | undefined][] =>
  kernel
    .diagnostics()
    .filter(({ code }) => code.startsWith('VT_POLICY_'))
    .map(({ code, message }) => [code, /nearest: ([^\s.]+)/.exec(message)?.[1]])

describe('allow rule for tools of a server', () => {
  it.each([
    ['mcp__sequential-thinking__*', 'mcp__sequential-thinking__search'],
    ['mcp__docs__search*', 'mcp__docs__search_code'],
    ['mcp__docs__*', 'mcp__docs__fetch'],
    ['mcp__docs', 'mcp__docs__fetch'],
    ['mcp__sequential-thinking', 'mcp__sequential-thinking__search'],
  ])('allows with the rule %s the tool %s, and none of another server', async (rule, slot) => {
    await using made = await boot({ allow: [rule] })
    expect(told(made)).toEqual([])
    expect((await made.kernel.explain(slot, {})).verdict).toBe('run')
    const other = slot.includes('docs') ? 'mcp__sequential-thinking__search' : 'mcp__docs__search'
    expect((await made.kernel.explain(other, {})).verdict).toBe('ask')
    expect((await made.kernel.explain('mcp__docs__fetch', {})).verdict).toBe(
      /docs__(fetch|\*)|docs$/.test(rule) || slot.endsWith('fetch') ? 'run' : 'ask',
    )
  })
})

describe('rule that matches nothing', () => {
  it.each([
    ['allow', 'mcp__*', 'VT_POLICY_NO_MATCH', 'mcp__sequential-thinking__*'],
    ['allow', 'unified_*', 'VT_POLICY_NO_MATCH', 'unified_'],
    ['allow', '*', 'VT_POLICY_NO_MATCH', undefined],
    ['allow', 'mcp__dcos__*', 'VT_POLICY_UNKNOWN_TOOL', 'mcp__docs__*'],
    ['deny', 'mcp__sequential_thinking__*', 'VT_POLICY_UNKNOWN_TOOL', 'mcp__sequential-thinking__*'],
    ['deny', 'mcp__docs__serch', 'VT_POLICY_UNKNOWN_TOOL', 'mcp__docs__search'],
    ['ask', 'mcp__dosc__fetch', 'VT_POLICY_UNKNOWN_TOOL', 'mcp__docs__fetch'],
    ['deny', 'Bsh(rm *)', 'VT_POLICY_UNKNOWN_TOOL', 'Bash'],
    ['deny', 'Raed(.env)', 'VT_POLICY_UNKNOWN_TOOL', 'Read'],
    ['deny', 'unified_exce/run', 'VT_POLICY_UNKNOWN_TOOL', 'unified_exec/run'],
    ['deny', 'unified_flie/*', 'VT_POLICY_UNKNOWN_TOOL', 'unified_file/*'],
    ['ask', 'exek', 'VT_POLICY_UNKNOWN_TOOL', 'exec'],
  ])('warns about an unmatched rule and names the nearest tool: %s %s', async (list, rule, code, nearest) => {
    await using made = await boot({ [list]: [rule] })
    expect(told(made).map(([code]) => code)).toEqual([code])
    if (nearest !== undefined)
      expect(told(made)[0]![1]).toMatch(
        new RegExp(`^${nearest.replace('*', '\\*')}${nearest.endsWith('_') ? '' : '$'}`),
      )
  })

  it('gives no warning for a server that is not connected or a glob that matches a tool', async () => {
    await using made = await bootKernel({
      config: {
        policy: {
          allow: ['mcp__gone__*', 'unified_exec/*'],
          deny: ['mcp__gone__write', 'unified_*', '*/patch', 'Bash(rm *)', 'Read(.env)'],
        },
        mcp: { servers: { gone: { command: 'false' } } },
      } as Config,
    })
    expect(told(made)).toEqual([])
  })

  it('warns about unmatched names in the full-auto list and in a file under validation', async () => {
    await using made = await bootKernel({
      mode: 'full-auto',
      config: {
        automation: {
          full_auto: {
            enabled: true,
            allowed_tools: ['unified_exce', 'Bash(ls *)', 'unified_file/*', 'read', 'mcp__*'],
          },
        },
      } as Config,
    })
    expect(told(made).map(([code, nearest]) => [code, nearest])).toEqual([
      ['VT_POLICY_UNKNOWN_TOOL', 'unified_exec'],
      ['VT_POLICY_NO_MATCH', undefined],
    ])
    await using other = await tempWorkspace({
      'idle.yaml': 'policy: { allow: [unified_*], deny: ["Raed(.env)"] }\n',
      'right.yaml': 'policy: { deny: ["Read(.env)"] }\n',
    })
    const validate = (file: string) =>
      execFileSync(
        'sh',
        ['-c', '"$@" 2>&1 || true', 'sh', process.execPath, bin, '--workspace', other.root, 'config', 'validate', file],
        { cwd: other.root, encoding: 'utf8', env: surroundings(other) },
      )
    expect(validate('idle.yaml')).toMatch(/unified_\*[\s\S]*Raed|Raed[\s\S]*unified_\*/)
    expect(validate('right.yaml')).toBe('The settings are valid.\n')
  })

  it('warns about unmatched rules in config validate, doctor, policy list and at the start of a call', async () => {
    await using made = await tempWorkspace({})
    await made.write('../home/.vtcode/vtcode.config.yaml', 'policy: { allow: [unified_*], deny: ["Raed(.env)"] }\n')
    const run = (...argv: string[]): string =>
      execFileSync('sh', ['-c', '"$@" 2>&1 || true', 'sh', process.execPath, bin, '--workspace', made.root, ...argv], {
        cwd: made.root,
        encoding: 'utf8',
        env: surroundings(made),
      })
    for (const argv of [['config', 'validate'], ['doctor'], ['policy', 'list'], ['call', 'unified_search', 'list']])
      expect([argv, run(...argv)]).toEqual([argv, expect.stringMatching(/unified_\*[\s\S]*Raed|Raed[\s\S]*unified_\*/)])
    expect(run('config', 'validate')).not.toContain('The settings are valid.')
  })
})
