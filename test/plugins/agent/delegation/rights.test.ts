import { execFileSync } from 'node:child_process'
import { existsSync, writeFileSync, mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { createAgent } from 'vtcode/agent'
import { describe, expect, it } from 'vitest'
import { computeChildRights } from '../../../../build/plugins/agent/delegation/index.js'
import { delegation, report, says, spawn, tool, toolNames } from '../../../support/delegation.js'
import { call } from '../../../support/peer.js'

const look = 'Find out what the file says and report it.'
const write = (path: string) => call('unified_file', { action: 'write', path, content: 'x' })
const run = (command: string) => call('unified_exec', { action: 'run', command })
const results = (body: any): string[] =>
  body.messages.filter(({ role }: any) => role === 'tool').map(({ content }: any) => content)

describe('agent rights', () => {
  it('keeps the rights of an agent when its session is opened, continued in another mode or forked', async () => {
    const tries = { toolCalls: [write('out.txt'), write('src/in.txt'), run('touch ran.txt'), spawn(`TWO ${look}`)] }
    const s = await delegation(
      [
        { toolCalls: [spawn(`ONE ${look}`, { write_paths: ['src/**'] }), spawn(`TWO ${look}`, { agent: 'explorer' })] },
        says('Done.'),
        tries,
        says('And a third time.'),
      ],
      {
        ONE: [report('One.'), tries, says('One again.'), tries, says('And again.')],
        TWO: [report('Two.'), tries, says('Two again.')],
      },
      { subagents: { max_depth: 1 } },
    )
    await s.agent.run('Work.')
    await s.agent.close()
    const [worker, explorer] = s.children()
    const again = async (resume: string, fork?: 'full_copy' | 'summarized') => {
      const agent = await createAgent(s.kernel, { ...s.options, resume, ...(fork && { fork }) })
      await agent.setMode('auto')
      const before = s.bodies().length
      await agent.run('Go on.')
      await agent.close()
      return { tools: toolNames(s.bodies()[before]), answers: results(s.bodies().at(-1)).slice(-4) }
    }
    const denied = expect.stringMatching(/VT_POLICY_(DENIED|REPEATED)/)
    for (const fork of [undefined, 'full_copy', 'summarized'] as const) {
      const { tools, answers } = await again(worker.session_id, fork)
      expect(
        tools.filter((name) => /agents|report_result/.test(name)),
        fork,
      ).toEqual([])
      expect(answers, fork).toEqual([denied, expect.stringContaining('src/in.txt'), denied, denied])
    }
    const { tools, answers } = await again(explorer.session_id)
    expect(tools.filter((name) => /exec|patch|agents/.test(name))).toEqual([])
    expect(answers).toEqual([denied, denied, denied, denied])
    expect(['out.txt', 'src/in.txt', 'ran.txt'].map((path) => existsSync(join(s.root, path)))).toEqual([
      false,
      true,
      false,
    ])
  })

  it('applies path rights to links, writing commands and programs that an agent starts', async () => {
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { write_paths: ['src/**'] })] }, says('Done.')],
      {
        ONE: [
          {
            toolCalls: [
              write('src/link.txt'),
              write('src/up/x.txt'),
              write('src/../x.txt'),
              run('echo x | tee src/b.ts'),
              run('sed -i s/a/b/ src/a.ts'),
              run('vtcode exec "Write x.txt."'),
              run('ls src'),
            ],
          },
          report('Tried.'),
        ],
      },
      { files: { 'src/a.ts': 'a\n', 'other/keep.txt': 'keep\n' } },
    )
    symlinkSync('../other/keep.txt', join(s.root, 'src/link.txt'))
    symlinkSync('../other', join(s.root, 'src/up'))
    await s.agent.run('Work.')
    const answers = results(s.bodies('ONE')[1])
    expect(answers.slice(0, 6).map((text) => /VT_(POLICY_DENIED|PATH_\w+)/.exec(text)?.[0])).toEqual(
      Array.from({ length: 6 }, () => expect.stringMatching(/^VT_/)),
    )
    expect(answers[6]).toContain('a.ts')
    expect(['other/x.txt', 'x.txt', 'src/b.ts'].map((path) => existsSync(join(s.root, path)))).toEqual([
      false,
      false,
      false,
    ])
    await s.agent.close()
  })

  it('lets an agent give its own agents only paths that it may write itself', async () => {
    const part = (write_paths: string[]) => tool('spawn', { message: `TWO ${look}`, write_paths })
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { write_paths: ['src/**'] })] }, says('Done.')],
      {
        ONE: [{ toolCalls: [part(['**']), part(['src/../**']), part(['other/**'])] }, report('One.')],
        TWO: [report('Two.')],
      },
      { subagents: { max_depth: 2 } },
    )
    await s.agent.run('Work.')
    expect(results(s.bodies('ONE')[1])).toEqual(
      ['**', 'src/../**', 'other/**'].map((glob) =>
        expect.stringContaining(
          `VT_INPUT_INVALID: write_paths: '${glob}' is outside of 'src/**', which you may write.`,
        ),
      ),
    )
    await s.agent.close()
  })

  it('enforces the delegation depth in the tool list and in the call, also for started programs', async () => {
    const parts = {
      ONE: [{ toolCalls: [spawn(`TWO ${look}`, { agent: 'explorer' })] }, report('One.')],
      TWO: [{ toolCalls: [tool('spawn', { message: `SIX ${look}` })] }, report('Two.')],
    }
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { write_paths: ['src/**'] })] }, says('Done.')],
      parts,
      { subagents: { max_depth: 2 } },
    )
    await s.agent.run('Work.')
    expect(
      [toolNames(s.bodies('parent')[0]), toolNames(s.bodies('ONE')[0]), toolNames(s.bodies('TWO')[0])].map((names) =>
        names.includes('agents'),
      ),
    ).toEqual([true, true, false])
    expect(results(s.bodies('ONE')[1])).toEqual([
      expect.stringContaining('Unchecked report of explorer: a1: completed.'),
    ])
    expect(results(s.bodies('TWO')[1])[0]).toMatch(/VT_POLICY_DENIED|VT_AGENT_DEPTH/)
    await s.agent.close()
    const inner = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`)] }, says('Done.')],
      {},
      { options: { env: { PEER_API_KEY: 'key-of-the-peer-0123', VTCODE: '1' } } },
    )
    await inner.agent.run('Work.')
    expect(toolNames(inner.bodies()[0])).not.toContain('agents')
    expect(inner.answers()).toEqual([
      expect.stringMatching(/VT_AGENT_DEPTH: The depth 1 reaches subagents\.max_depth 1/),
    ])
    await inner.agent.close()
  })

  it('asks no other provider and creates no worktree for a definition of the repository', async () => {
    const scout =
      '---\nname: scout\ndescription: Looks.\nmodel: other/m2\nisolation: worktree\nbackground: true\n---\nLook.\n'
    const s = await delegation(
      [{ toolCalls: [spawn(`ONE ${look}`, { agent: 'scout' })] }, says('Done.')],
      { ONE: [report('Seen.')] },
      { files: { '.vtcode/agents/scout.md': scout } },
    )
    execFileSync('git', ['init', '-q'], { cwd: s.root })
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success' })
    expect(s.children()).toMatchObject([
      { agent: 'scout', status: 'completed', isolation: 'shared', background: false },
    ])
    expect(s.bodies('ONE')[0].model).toBe(s.bodies('parent')[0].model)
    expect(existsSync(join(s.root, '.vtcode/worktrees'))).toBe(false)
    await s.agent.close()
  })

  it('limits the rights of a definition to those of the conversation and gives an explorer few tools', async () => {
    const s = await delegation([says('Done.')], {})
    mkdirSync(join(s.root, 'src'))
    writeFileSync(join(s.root, 'src/a.ts'), '')
    const asked = { trusted: true, disallowed: [] as string[] }
    expect(
      computeChildRights(
        s.kernel,
        { mode: 'ask', only: { tools: ['unified_file'] } },
        { ...asked, mode: 'auto' },
        { delegates: true },
      ),
    ).toMatchObject({ mode: 'ask', only: { tools: expect.not.arrayContaining(['unified_exec/run']) } })
    expect(
      computeChildRights(s.kernel, { mode: 'auto', only: { writes: ['src/**'] } }, asked, { delegates: false }).only
        .writes,
    ).toEqual(['src/**'])
    const { only } = computeChildRights(
      s.kernel,
      { mode: 'auto', only: undefined },
      { ...asked, tools: ['unified_search', 'unified_file/read'], mode: 'plan' },
      { delegates: false },
    )
    const bytes = (how: object) => JSON.stringify(s.kernel.tools({ audience: 'agent', ...how })).length
    expect(bytes({ only: only.tools }) / bytes({})).toBeLessThanOrEqual(0.45)
    expect(bytes({ only: only.tools, lean: true }) / bytes({ lean: true })).toBeLessThanOrEqual(0.6)
    await s.agent.close()
  })
})
