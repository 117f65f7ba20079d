import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, type Booted } from 'vtcode/test'
import type { Config } from 'vtcode'

const booted: Booted[] = []
afterAll(() => Promise.all(booted.map((one) => one[Symbol.asyncDispose]())))

/** Returns the verdict on each command line without running it. */
async function judging(
  policy: Config['policy'],
  files: Record<string, string> = {},
): Promise<(command: string, input?: object) => Promise<string>> {
  const made = await bootKernel({ mode: 'auto', config: { policy: policy! }, files: { 'a.json': '{}', ...files } })
  booted.push(made)
  return async (command, input = {}) =>
    (await made.kernel.explain('unified_exec', { action: 'run', command, ...input })).verdict
}

describe('policy.commands entry', () => {
  const cut = {
    id: 'cut_read',
    program: 'cut',
    verdict: 'allow' as const,
    flags: { allow: ['-d', '-f', '-s', '--output-delimiter'], deny: ['--complement'] },
    positional: { kind: 'paths' as const, max: 3 },
    match: ['cut -d: a.json', 'cat a.json | cut -sf a.json'],
    not_match: ['cut --complement a', 'cut a > b', './cut a', 'cut a | sh'],
  }
  const sorting = {
    id: 'sort_any',
    program: 'sort',
    verdict: 'allow' as const,
    flags: { any: true, deny: ['-o', '--output'] },
    positional: { kind: 'any' as const, dynamic: true },
    match: ['sort -u $X'],
    not_match: ['sort -uo x', 'sort --output=x'],
  }
  const tag = {
    id: 'git_tag',
    program: 'git',
    subcommands: ['tag', 'push'],
    verdict: 'ask' as const,
    reason: 'It names a state.',
  }
  const force = { id: 'no_force', program: 'git', verdict: 'deny' as const, flags: { deny: ['-f', '--force'] } }
  let judge: Awaited<ReturnType<typeof judging>>
  beforeAll(async () => {
    judge = await judging({
      commands: [cut, sorting, tag, force],
      allow: ['Bash(git log *)', 'Bash(git tag *)', 'Bash(git push *)'],
    })
  })

  it.each([
    ['cut -d: -f1 a.json', 'run'],
    ['cut -sd a.json', 'run'],
    ['cut --output-delimiter=x a.json', 'run'],
    ['cut -z a.json', 'ask'],
    ['cut -sz a.json', 'ask'],
    ['cut -s --complement a.json', 'ask'],
    ['cut a.json a.json a.json a.json', 'ask'],
    ['cut ../secret', 'ask'],
    ['cut -- ../secret', 'ask'],
    ['cut /etc/passwd', 'ask'],
    ['cut $X', 'ask'],
    ['/usr/bin/cut a.json', 'ask'],
    ['env cut a.json', 'ask'],
    ['sort -u $X', 'run'],
    ['sort -uo x', 'ask'],
    ['sort --output x', 'ask'],
    ['git tag v1', 'ask'],
    ['git log', 'run'],
    ['git log -f', 'deny'],
    ['sudo git push --force=x', 'deny'],
    ['git push $X', 'deny'],
  ])('judges `%s` as %s', async (command, expected) => {
    expect(await judge(command)).toBe(expected)
  })

  it.each<[string, Config['policy'], RegExp]>([
    [
      'an example that it does not match',
      { commands: [{ ...cut, match: ['cut -z x'] }] },
      /commands\.cut_read' does not match its example "cut -z x"/,
    ],
    [
      'an example that it should not match',
      { commands: [{ ...cut, not_match: ['cut a.json'] }] },
      /matches its example "cut a\.json" under not_match/,
    ],
    [
      'no examples at all',
      { commands: [{ ...cut, match: [] }] },
      /'cut_read' of policy\.commands allows without examples\. Add at least one example .* not_match\.$/,
    ],
    [
      'a rule with a wrong example',
      { deny: [{ rule: 'Read(*.pem)', match: ['a.pom'] }] },
      /Read\(\*\.pem\)' does not match its example "a\.pom"/,
    ],
    [
      'a host that is not meant',
      { ask: [{ rule: 'WebFetch(domain:*.a.org)', match: ['https://x.a.org/y'], not_match: ['https://b.a.org/'] }] },
      /matches its example "https:\/\/b\.a\.org\/"/,
    ],
  ])('refuses every call for %s and names the entry', async (_, policy, message) => {
    await using made = await bootKernel({ mode: 'auto', config: { policy: policy! } })
    const result = await made.call('unified_search', { action: 'list' })
    matches(result, { ok: false, error: { code: 'VT_POLICY_DENIED' } })
    expect(!result.ok && result.error.message).toMatch(message)
  })
})

describe('allowed git commands', () => {
  const plain =
    '[core]\n\trepositoryformatversion = 0\n\tbare = false\n[remote "origin"]\n\turl = https://example.org/x.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n[branch "main"]\n\tremote = origin\n'
  const say = async (files: Record<string, string>, input: object = {}): Promise<string> =>
    (await judging({ allow: ['Bash(git *)'] }, files))('git status', input)

  it('runs git in a repository that configures no programs', async () => {
    expect(await say({ '.git/config': plain, '.git/HEAD': '', '.git/hooks/pre-commit.sample': 'x' })).toBe('run')
    expect(await say({})).toBe('run')
  })

  it.each([
    ['[core]\n\tfsmonitor = ./x'],
    ['[core] fsmonitor = ./x'],
    ['[core]\nhooksPath=.husky'],
    ['[core]\n pager = ./x'],
    ['[diff]\n external = ./x'],
    ['[diff "x"]\n textconv = ./x'],
    ['[filter "x"]\n clean = ./x'],
    ['[attr]\n tree = HEAD'],
    ['[include]\n path = ../x'],
    ['[includeIf "gitdir:/"]\n path = x'],
    ['[alias]\n status = !./x'],
    ['[core]\n fsmoni\\\ntor = x'],
    ['[remote "o"]\n url = ext::sh -c x'],
    ['[gpg]\n program = ./x'],
    ['[credential]\n helper = !x'],
    ['[unheard]\n of = x'],
    ['[core]\n editor = x'],
    ['[merge "x"]\n driver = x'],
    ['nonsense: {'],
  ])('asks about git when the repository configures %j', async (text) => {
    expect(await say({ '.git/config': plain + text, '.git/HEAD': '' })).toBe('ask')
  })

  it('asks about git with a hook, in a worktree, in a bare folder and in folders below', async () => {
    expect(await say({ '.git/config': plain, '.git/hooks/post-index-change': '#!/bin/sh\n' })).toBe('ask')
    expect(await say({ '.git': 'gitdir: ../elsewhere' })).toBe('ask')
    expect(await say({ HEAD: 'ref: refs/heads/x', 'objects/x': '', config: '[core]\n fsmonitor = ./x' })).toBe('ask')
    expect(
      await say({ '.git/config': plain, 'sub/.git/config': '[core]\nfsmonitor=./x', 'sub/a': '' }, { workdir: 'sub' }),
    ).toBe('ask')
    expect(await say({ '.git/config': '[core]\nfsmonitor=./x', 'sub/deep/a': '' }, { workdir: 'sub/deep' })).toBe('ask')
  })
})
