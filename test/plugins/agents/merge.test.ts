import { execFileSync } from 'node:child_process'
import { existsSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createAgent } from 'vtcode/agent'
import { delegation, report, says, spawn, tool } from '../../support/delegation.js'
import { items } from '../../support/inside.js'
import { checkLog } from '../../support/invariants.js'
import { call, type Answer } from '../../support/peer.js'

const look = 'do the work that was described above.'
const file = (action: string, input: object) => call('unified_file', { action, ...input })
const run = (command: string) => call('unified_exec', { action: 'run', command })
const lines = (...changed: string[]) =>
  `${Array.from({ length: 9 }, (_, at) => changed[at] ?? `line ${at}`).join('\n')}\n`
const apart = (name: string, more: object = {}) => spawn(`${name} ${look}`, { isolation: 'worktree', ...more })

type Where = Parameters<typeof delegation>[2]
/** Starts a conversation in a repository with one commit. */
async function scene(parent: Answer[], parts: Record<string, Answer[]>, where: Where = {}) {
  const s = await delegation(parent, parts, where)
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: s.root, encoding: 'utf8' })
  git('init', '-q')
  git('add', '-A')
  git('commit', '-qm', 'one')
  const text = (path: string) => readFileSync(join(s.root, path), 'utf8')
  const worktrees = () =>
    existsSync(join(s.root, '.vtcode/worktrees'))
      ? readdirSync(join(s.root, '.vtcode/worktrees')).filter((name) => name !== '.gitignore')
      : []
  return { ...s, git, text, worktrees }
}

describe('agent in a worktree', () => {
  it('works on a copy of the files, and close merges its changes, which revert takes back', async () => {
    const s = await scene(
      [
        { toolCalls: [apart('ONE')] },
        { toolCalls: [file('edit', { path: 'a.txt', old_str: 'line 0', new_str: 'HERE' })] },
        {
          toolCalls: [
            call('unified_search', { action: 'grep', pattern: 'THERE', include_hidden: true, respect_ignore: false }),
            tool('list'),
          ],
        },
        { toolCalls: [tool('close', { id: 'a1', merge: true })] },
        says('Done.'),
      ],
      {
        ONE: [
          {
            toolCalls: [
              file('edit', { path: 'a.txt', old_str: 'line 8', new_str: 'THERE' }),
              run("printf '\\0new' > bin && chmod +x run.sh && git status --short && cat open.txt"),
            ],
          },
          { toolCalls: [call('unified_search', { action: 'grep', pattern: 'THERE' })] },
          report('It is done.'),
        ],
      },
      { files: { 'a.txt': lines(), bin: '\0old', 'run.sh': 'echo\n' }, approve: true },
    )
    writeFileSync(join(s.root, 'open.txt'), 'not committed\n')
    expect(await s.agent.run('Work.')).toMatchObject({ outcome_code: 'success', text: 'Done.' })
    const [spawned, , found, listed, closed] = s.answers()
    const [{ session_id, status, isolation, changed_files, worktree }] = s.children()
    expect(spawned).toContain(
      `In its worktree, .vtcode/worktrees/${session_id}, it changed a.txt, bin, run.sh; close with merge copies that here.`,
    )
    const child = JSON.stringify(s.bodies('ONE').at(-1).messages)
    for (const told of [' M a.txt', 'not committed', 'a.txt:9']) expect(child).toContain(told)
    expect(found).not.toContain('worktrees')
    expect(listed).toContain('a1  worker  completed')
    expect(closed).toBe('a1 (worker) is closed; merged:\nM a.txt (+1 -1)\nM bin (+1 -1)\nM run.sh (+0 -0)')
    expect([status, isolation, changed_files, worktree]).toEqual([
      'closed',
      'worktree',
      ['a.txt', 'bin', 'run.sh'],
      undefined,
    ])
    expect([s.text('a.txt'), s.text('bin'), (statSync(join(s.root, 'run.sh')).mode & 0o111) > 0]).toEqual([
      lines(
        'HERE',
        ...Array<string>(7)
          .fill('')
          .map((_, at) => `line ${at + 1}`),
        'THERE',
      ),
      '\0new',
      true,
    ])
    expect([
      s.worktrees(),
      s.git('worktree', 'list').trim().split('\n').length,
      s.git('status', '--porcelain'),
    ]).toEqual([[], 1, ' M a.txt\n M bin\n M run.sh\n?? open.txt\n'])
    expect(items(s.events, 'file_change').flatMap(({ changes }) => changes.map(({ path }: any) => path))).toEqual(
      expect.arrayContaining(['bin', 'run.sh']),
    )
    checkLog(s.events)
    await s.agent.close()
    const { code, err } = await s.program('revert', '--session', s.agent.session_id, '--turn', '1')
    expect([code, err]).toEqual([0, expect.any(String)])
    expect([s.text('a.txt'), s.text('bin'), s.git('status', '--porcelain')]).toEqual([
      lines(),
      '\0old',
      '?? open.txt\n',
    ])
  })

  it('refuses a merge of lines that changed on both sides and merges the other files', async () => {
    const s = await scene(
      [
        { toolCalls: [apart('ONE')] },
        { toolCalls: [file('edit', { path: 'a.txt', old_str: 'line 4', new_str: 'here' })] },
        { toolCalls: [call('merge_agent', { id: 'a1' })] },
        { toolCalls: [tool('close', { id: 'a1', merge: ['b.*'] })] },
        says('Done.'),
      ],
      {
        ONE: [
          {
            toolCalls: [
              file('edit', { path: 'a.txt', old_str: 'line 4', new_str: 'there' }),
              file('write', { path: 'b.txt', content: 'b\n' }),
            ],
          },
          report('Done.'),
        ],
      },
      { files: { 'a.txt': lines() } },
    )
    await s.agent.run('Work.')
    const [, , refused, closed] = s.answers()
    expect(refused).toMatch(
      /VT_AGENT_MERGE_CONFLICT: Nothing was merged: 'a\.txt' was changed on both sides in the same lines\./,
    )
    expect(closed).toBe('a1 (worker) is closed; merged:\nA b.txt\nIts worktree is removed; not merged: a.txt')
    expect([s.text('a.txt').split('\n')[4], s.text('b.txt'), s.worktrees()]).toEqual(['here', 'b\n', []])
    await s.agent.close()
  })

  it('asks before the merge of auto-executed config, and a no leaves all files unchanged', async () => {
    const asked: any[] = []
    const s = await scene(
      [{ toolCalls: [apart('ONE')] }, { toolCalls: [tool('close', { id: 'a1', merge: true })] }, says('Done.')],
      {
        ONE: [
          {
            toolCalls: [
              run(
                "mkdir -p .githooks && echo 'touch x' > .githooks/pre-commit && chmod +x .githooks/pre-commit && echo b >> a.txt",
              ),
            ],
          },
          report('Done.'),
        ],
      },
      { files: { 'a.txt': 'a\n' }, approve: (request) => (asked.push(request), request.call.slot !== 'agents/merge') },
    )
    await s.agent.run('Work.')
    expect(asked.map(({ call: { slot } }) => slot)).toEqual(['unified_exec/run', 'agents/merge'])
    expect(JSON.stringify(asked[1])).toContain('.githooks/pre-commit')
    expect(s.answers()[1]).toMatch(/VT_POLICY_/)
    expect([s.text('a.txt'), existsSync(join(s.root, '.githooks')), s.worktrees().length]).toEqual(['a\n', false, 3])
    // The unmerged worktree stays and is named.
    expect(items(s.events, 'error')).toMatchObject([
      {
        code: 'VT_AGENT_UNMERGED',
        message: expect.stringMatching(
          /^a1 \(worker\) has 2 unmerged files: \.githooks\/pre-commit, a\.txt\. It stays in \.vtcode\/worktrees\/ses_/,
        ),
      },
    ])
    await s.agent.close()
    expect(s.worktrees()).toHaveLength(3)
    const again = await createAgent(s.kernel, { ...s.options, resume: s.agent.session_id })
    await again.close()
    const gone = await s.program('sessions', 'delete', s.agent.session_id)
    expect([gone.code, s.worktrees()]).toEqual([0, []])
  })

  it('requires a git repository, merges nothing for a shared workspace and removes unused worktrees', async () => {
    const s = await delegation(
      [
        { toolCalls: [apart('ONE'), spawn(`ONE ${look}`, { agent: 'explorer' })] },
        { toolCalls: [tool('close', { id: 'a2', merge: true }), tool('close', { id: 'a2' })] },
        says('Done.'),
        { toolCalls: [apart('TWO', { agent: 'explorer' })] },
        says('Done.'),
      ],
      { ONE: [report('One.')], TWO: [report('Two.')] },
      { files: { 'a.txt': 'a\n' } },
    )
    await s.agent.run('Work.')
    expect(s.answers()).toEqual([
      expect.stringMatching(
        /VT_AGENT_NO_WORKTREE: No worktree can be made here: the workspace is in no git repository\./,
      ),
      expect.stringContaining('One.'),
      expect.stringMatching(
        /VT_AGENT_NO_WORKTREE: Nothing of a2 \(explorer\) can be merged: it works on the files of the conversation\./,
      ),
      'a2 (explorer) is closed.',
    ])
    execFileSync('git', ['init', '-q'], { cwd: s.root })
    await s.agent.run('More.')
    expect(s.answers().at(-1)).toContain('It changed no file.')
    const folder = join(s.root, '.vtcode/worktrees')
    expect(readdirSync(folder)).toHaveLength(4)
    await s.agent.close()
    expect(readdirSync(folder)).toEqual(['.gitignore'])
  })
})
