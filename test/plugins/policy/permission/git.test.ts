import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, rename, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { bootKernel, matches, type Booted } from 'vtcode/test'
import type { Config, Mode } from 'vtcode'

const person = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
const git = (cwd: string, ...args: string[]): string => spawnSync('git', [...person, ...args], { cwd, encoding: 'utf8' }).stdout

/** A real repository with one commit and a change. The user's own configuration starts a program at everything that can. */
async function repository({ mode = 'auto', policy, sandbox = 'off' }: { mode?: Mode; policy?: Config['policy']; sandbox?: 'off' | 'auto' } = {}): Promise<Booted> {
  const config = { sandbox: { mode: sandbox }, automation: { full_auto: { enabled: true, allowed_tools: [] } }, manifests: ['!builtin:repeats', '!builtin:duplicate_calls'], ...(policy && { policy }) } as Config
  const made = await bootKernel({ mode, config, files: { 'a.txt': 'one\n', '.env': 'KEY=1\n', 'sub/b.txt': 'b\n' } })
  git(made.root, 'init', '-q', '-b', 'main')
  git(made.root, 'add', '.')
  git(made.root, 'commit', '-qm', 'first')
  await writeFile(join(made.root, 'a.txt'), 'two\n')
  return made
}
const say = async (made: Booted, command: string | string[], input: object = {}): Promise<string> => {
  const result = await made.call('unified_exec', { action: 'run', command, ...input })
  if (result.ok) return 'run'
  return { VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code
}

const looking = [
  'git status', 'git status --short --branch', 'git --no-pager log --oneline -5', "git log --format='%h %s' -n 3 -- a.txt", 'git diff', 'git diff --stat HEAD', 'git diff HEAD -- a.txt', 'git show HEAD:a.txt',
  'git show --stat', 'git branch', 'git branch -a', 'git tag', 'git remote -v', 'git rev-parse --abbrev-ref HEAD', 'git ls-files', 'git blame a.txt', 'git log --oneline | head -3', 'git status && git diff | wc -l',
  'git -C . status', 'git --no-pager -C . -C . log', 'cd sub && git status', 'cd sub && git diff b.txt | head -3', 'git cat-file -p HEAD', 'git ls-tree -r HEAD', 'git diff -U1 -M90%', 'git rev-list --count HEAD', 'git log --graph --all',
]
const more = [
  'git commit -m x', 'git branch x', 'git branch -d main', 'git tag v1', 'git stash', 'git log --output=x', 'git diff --output=x', 'git diff --ext-diff', 'git show --textconv', 'git diff --no-index a.txt /etc/passwd',
  'git diff a.txt /etc/passwd', 'git log --show-signature', "git log --format='%G?'", 'git -C /tmp status', 'git -C sub status', 'git -C', 'git -C .', 'cd /tmp && git status', 'cd .. && git status', 'cd sub && git diff a.txt ../../x', 'git -c core.fsmonitor=./x status', 'git --git-dir=/tmp/x status', 'git --exec-path=. status', 'git -p log', 'git grep x',
  'git diff -Oa.txt', 'git blame --contents=/etc/passwd a.txt', 'git status $X', 'git log $HOME', 'git status; touch x', 'git status > x', 'GIT_DIR=x git status', 'env git status', './git status', 'git', 'git status -v', 'git outp',
  'git remote add x y', 'git reflog expire --all', 'git describe --dirty', 'git cat-file --batch', 'git status && git fetch', 'git log --outp=x',
]

describe('git that only looks', () => {
  it('runs unasked in modes ask and auto, and tells what git tells', async () => {
    await using made = await repository()
    for (const command of looking) expect([command, await say(made, command)]).toEqual([command, 'run'])
    matches(await made.call('unified_exec', { action: 'run', command: 'git status --short' }), { ok: true, output: { stdout: ' M a.txt\n' } })
    matches(await made.call('unified_exec', { action: 'run', command: ['git', 'log', '--format=%s'] }), { ok: true, output: { stdout: 'first\n' } })
    await using asked = await repository({ mode: 'ask' })
    expect(await say(asked, 'git status')).toBe('run')
  })

  it('is not in the set of plan mode, nor on a list of full-auto that is empty', async () => {
    await using plan = await repository({ mode: 'plan' })
    expect(await say(plan, 'git status')).toBe('deny')
    await using full = await repository({ mode: 'full-auto' })
    expect(await say(full, 'git status')).toBe('deny')
  })

  it('is asked for with any option, word or company that is not known to be harmless', async () => {
    await using made = await repository()
    for (const command of more) expect([command, await say(made, command)]).toEqual([command, 'ask'])
  })

  it('does not show what a rule keeps from being read, under no name', async () => {
    await using made = await repository({ policy: { deny: ['Read(.env)'] } })
    expect(await say(made, 'git status')).toBe('run')
    expect(await say(made, 'git log --oneline')).toBe('run')
    for (const command of ['git show HEAD:.env', 'git show', 'git diff', 'git cat-file -p HEAD:.env']) expect([command, await say(made, command)]).toEqual([command, 'ask'])
    expect(await say(made, 'git diff .env')).toBe('deny')
    expect(await say(made, 'git log -p')).toBe('ask')
  })

  it('starts nothing that the configuration of the user or the attributes of the repository name', async () => {
    await using made = await repository()
    const marker = join(made.root, 'marker')
    await writeFile(join(made.root, '.gitattributes'), '*.txt diff=x filter=x\n')
    const home = join(made.root, 'home')
    await mkdir(home)
    await writeFile(join(home, '.gitconfig'), `[diff "x"]\n\ttextconv = touch ${marker}; cat\n[filter "x"]\n\tclean = touch ${marker}; cat\n[core]\n\tfsmonitor = touch ${marker}\n`)
    const { HOME } = process.env
    process.env['HOME'] = home
    try {
      for (const command of ['git status', 'git diff', 'git show', 'git blame a.txt', 'git log --stat']) expect([command, await say(made, command), existsSync(marker)]).toEqual([command, 'run', false])
      git(made.root, 'diff')
      expect(existsSync(marker)).toBe(true)
    } finally {
      process.env['HOME'] = HOME
    }
  })

  it('is asked for where a program could start all the same, and none does', async () => {
    const marker = (made: Booted): string => join(made.root, 'marker')
    const config = (key: string) => (made: Booted) => void git(made.root, 'config', key, `touch ${marker(made)}; cat`)
    const cases: Record<string, (made: Booted) => unknown> = {
      'core.fsmonitor': config('core.fsmonitor'),
      'core.hooksPath': config('core.hooksPath'),
      'diff.external': config('diff.external'),
      'filter.x.clean': config('filter.x.clean'),
      'a common folder elsewhere': async (made) => {
        await rename(join(made.root, '.git/config'), join(made.root, 'config'))
        git(made.root, 'init', '-q', 'other')
        git(join(made.root, 'other'), 'config', 'core.fsmonitor', `touch ${marker(made)}`)
        await writeFile(join(made.root, '.git/commondir'), '../other/.git\n')
      },
      'a repository inside': async (made) => {
        const inner = join(made.root, 'inner')
        await mkdir(inner)
        await writeFile(join(inner, 'f'), '1\n')
        await writeFile(join(inner, '.gitattributes'), 'f filter=x\n')
        git(inner, 'init', '-q')
        git(inner, 'add', '.')
        git(inner, 'commit', '-qm', 'x')
        git(made.root, 'add', 'inner')
        git(inner, 'config', 'filter.x.clean', `touch ${marker(made)}; cat`)
        await writeFile(join(inner, 'f'), '2\n')
      },
      'a link in place of .git': async (made) => {
        await rename(join(made.root, '.git'), join(made.root, 'elsewhere'))
        await symlink('elsewhere', join(made.root, '.git'))
      },
      'an index in two files': (made) => git(made.root, 'update-index', '--split-index'),
      'an index of format 4': (made) => git(made.root, 'update-index', '--index-version', '4'),
      'the hook of a new index': async (made) => {
        await mkdir(join(made.root, '.git/hooks'), { recursive: true })
        await writeFile(join(made.root, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch ${marker(made)}\n`, { mode: 0o755 })
      },
    }
    for (const [name, make] of Object.entries(cases)) {
      await using made = await repository()
      await make(made)
      for (const command of ['git status', 'git diff']) expect([name, command, await say(made, command), existsSync(marker(made))]).toEqual([name, command, 'ask', false])
    }
  })

  it('is asked for where it is led into another repository, which starts nothing', async () => {
    for (const allow of [[], ['Bash(cd *)', 'Bash(git status *)']]) {
      await using made = await repository({ policy: { allow } })
      const [inner, marker] = [join(made.root, 'vendor'), join(made.root, 'marker')]
      await mkdir(inner)
      git(inner, 'init', '-q')
      git(inner, 'config', 'core.fsmonitor', `touch ${marker}`)
      for (const command of ['cd vendor && git status', 'cd ./vendor; git status', 'cd vendor || git status', `cd ${inner} && git status`]) expect([command, await say(made, command), existsSync(marker)]).toEqual([command, 'ask', false])
      expect(await say(made, 'cd sub && git status')).toBe('run')
    }
  })

  it('is asked for in a folder below the workspace whose repository lies above it', async () => {
    await using made = await bootKernel({ mode: 'auto' })
    git(join(made.root, '..'), 'init', '-q')
    expect(await say(made, 'git status')).toBe('ask')
  })

  it('minds no hook of other commands', async () => {
    await using made = await repository()
    await mkdir(join(made.root, '.git/hooks'), { recursive: true })
    await writeFile(join(made.root, '.git/hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
    expect(await say(made, 'git status')).toBe('run')
  })

  it('runs in the sandbox too, where there is one', async () => {
    await using made = await repository({ sandbox: 'auto' })
    expect(await say(made, 'git status')).toBe('run')
  })
})

describe('variables that everybody may see', () => {
  it('are shown by what only shows text, and are not known in any other place', async () => {
    await using made = await repository()
    for (const command of ['echo $HOME', 'echo "in ${PWD} as $USER"', 'echo $?', "printf '%s\\n' \"$HOME\"", 'basename $PWD']) expect([command, await say(made, command)]).toEqual([command, 'run'])
    for (const command of ['echo $SECRET', 'echo ${HOME:-$(id)}', 'echo ${!HOME}', 'echo ${HOME@P}', 'printf $HOME', 'cat $HOME/x', 'ls $HOME', '$SHELL', '$HOME/x', 'echo x > $HOME/y', 'cat < $HOME/x', '[ -n $HOME ]', 'HOME=x; echo $HOME', 'sh -c $HOME', 'echo $1', 'echo $@']) {
      expect([command, await say(made, command)]).toEqual([command, 'ask'])
    }
  })
})
