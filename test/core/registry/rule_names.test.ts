import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
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

describe('rule about a server whose name begins like that of another', () => {
  const servers = (...names: string[]): Config['mcp'] =>
    ({ servers: Object.fromEntries(names.map((name) => [name, server()])) }) as Config['mcp']
  const verdicts = async ({ kernel }: Booted, slots: string[]): Promise<string[]> => {
    const all: string[] = []
    for (const slot of slots) all.push((await kernel.explain(slot, {})).verdict)
    return all
  }

  it.each([
    ['mcp__docs', ['run', 'ask']],
    ['mcp__docs__*', ['run', 'ask']],
    ['mcp__docs__fetch*', ['run', 'ask']],
    ['mcp__docs__more', ['ask', 'run']],
    ['mcp__docs__more__*', ['ask', 'run']],
  ])('allows with %s only the tools of the named server', async (rule, expected) => {
    await using made = await bootKernel({
      mode: 'auto',
      config: { policy: { allow: [rule] }, mcp: servers('docs', 'docs__more') } as Config,
    })
    expect(await verdicts(made, ['mcp__docs__fetch', 'mcp__docs__more__fetch'])).toEqual(expected)
    expect(told(made)).toEqual([])
  })

  it('applies denied names, limits and suggestions to the named server', async () => {
    await using made = await bootKernel({
      mode: 'auto',
      config: {
        policy: { deny: ['mcp__docs'], allow: ['mcp__docs__moer__*'] },
        mcp: servers('docs', 'docs__more'),
      } as Config,
    })
    expect(await verdicts(made, ['mcp__docs__fetch', 'mcp__docs__more__fetch'])).toEqual(['deny', 'ask'])
    expect(told(made)).toEqual([['VT_POLICY_UNKNOWN_TOOL', 'mcp__docs__more__*']])
    const only = [{ tools: ['mcp__docs'] }]
    await using limited = await bootKernel({ only, config: { mcp: servers('docs', 'docs__more') } as Config })
    const names = limited.kernel.tools().map(({ name }) => name)
    expect(names.filter((name) => name.startsWith('mcp__')).sort()).toEqual(
      ['fetch', 'search', 'search_code'].map((name) => `mcp__docs__${name}`),
    )
  })

  it('gives a tool whose name begins like another server, and a server whose name is written alike, a name of its own', async () => {
    const tools = [{ name: 'more__fetch', description: 'A tool.', inputSchema: { type: 'object' } }]
    await using other = await tempWorkspace({ 'tools.json': JSON.stringify(tools) })
    const docs = { command: process.execPath, args: [fixture, other.root, ''] }
    await using made = await bootKernel({
      mode: 'auto',
      config: {
        policy: { allow: ['mcp__docs__more', 'mcp__a_b'] },
        mcp: { servers: { docs, docs__more: server(), a_b: server(), 'a.b': server() } },
      } as unknown as Config,
    })
    const slots = made.kernel.list().flatMap(({ slot }) => (slot.startsWith('mcp__') ? [slot] : []))
    const foreign = slots.filter((slot) => /^mcp__(?:docs__more_fetch_|a_b_)[0-9a-f]{8}/.test(slot))
    expect(foreign).toHaveLength(4)
    expect(new Set(await verdicts(made, foreign))).toEqual(new Set(['ask']))
    expect(await verdicts(made, ['mcp__docs__more__fetch', 'mcp__a_b__fetch'])).toEqual(['run', 'run'])
  })

  it('allows no tool whose name only begins with that of the rule', async () => {
    const command = (name: string) =>
      `name: ${name}\ndescription: A tool.\nrun: [touch, ${name}]\ninput: { type: object }\n`
    await using folder = await tempWorkspace({
      'own/look.yaml': command('look'),
      'own/show.yaml': command('show'),
      'look/vtcode/show.yaml': command('show'),
    })
    await using made = await bootKernel({
      mode: 'auto',
      manifests: [join(folder.root, 'own'), join(folder.root, 'look')],
      config: { policy: { allow: ['look'] } } as Config,
    })
    expect(await verdicts(made, ['look', 'look__show'])).toEqual(['run', 'ask'])
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
