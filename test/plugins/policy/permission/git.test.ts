import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync } from 'node:fs'
import { cp, mkdir, readFile, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Config, Mode } from 'vtcode'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { rounds } from '../../../support/exec.js'
import { holdForFile } from '../../../support/held.js'
import { bin, surroundings, vtcode } from '../../../support/program.js'

const person = ['-c', 'user.name=a', '-c', 'user.email=a@example.org']
const git = (cwd: string, ...args: string[]): string =>
  spawnSync('git', [...person, ...args], { cwd, encoding: 'utf8' }).stdout

const committed = { 'a.txt': 'one\n', '.env': 'KEY=1\n', 'sub/b.txt': 'b\n' }
/** A repository whose git folder is copied. */
let template: TempWorkspace
beforeAll(async () => {
  template = holdForFile(await tempWorkspace(committed))
  // Each copy would hold the hook samples, so the template has none.
  git(template.root, 'init', '-q', '-b', 'main', '--template=')
  git(template.root, 'add', '.')
  git(template.root, 'commit', '-qm', 'first')
})

/** Makes a repository with one commit and a change. The user configuration starts a program wherever git can. */
async function repository({
  mode = 'auto',
  policy,
  sandbox = 'off',
  env = {},
}: {
  mode?: Mode
  policy?: Config['policy']
  sandbox?: 'off' | 'auto'
  env?: Record<string, string>
} = {}): Promise<Booted> {
  const config = {
    sandbox: { mode: sandbox },
    automation: { full_auto: { enabled: true, allowed_tools: [] } },
    manifests: ['!builtin:repeats', '!builtin:duplicate_calls'],
    ...(policy && { policy }),
  } as Config
  const made = await bootKernel({ mode, config, env, files: { ...committed, 'a.txt': 'two\n' } })
  await cp(join(template.root, '.git'), join(made.root, '.git'), { recursive: true })
  return made
}
const say = async (made: Booted, command: string | string[], input: object = {}): Promise<string> => {
  const result = await made.call('unified_exec', { action: 'run', command, ...input })
  if (result.ok) return 'run'
  return { VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code
}

const looking = [
  'git status',
  'git status --short --branch',
  'git --no-pager log --oneline -5',
  "git log --format='%h %s' -n 3 -- a.txt",
  'git diff',
  'git diff --stat HEAD',
  'git diff HEAD -- a.txt',
  'git show HEAD:a.txt',
  'git show --stat',
  'git branch',
  'git branch -a',
  'git tag',
  'git remote -v',
  'git rev-parse --abbrev-ref HEAD',
  'git ls-files',
  'git blame a.txt',
  'git log --oneline | head -3',
  'git status && git diff | wc -l',
  'git -C . status',
  'git --no-pager -C . -C . log',
  'cd sub && git status',
  'cd sub && git diff b.txt | head -3',
  'git cat-file -p HEAD',
  'git ls-tree -r HEAD',
  'git diff -U1 -M90%',
  'git rev-list --count HEAD',
  'git log --graph --all',
]
const more = [
  'git commit -m x',
  'git branch x',
  'git branch -d main',
  'git tag v1',
  'git stash',
  'git log --output=x',
  'git diff --output=x',
  'git diff --ext-diff',
  'git show --textconv',
  'git diff --no-index a.txt /etc/passwd',
  'git diff a.txt /etc/passwd',
  'git log --show-signature',
  "git log --format='%G?'",
  'git -C /tmp status',
  'git -C sub status',
  'git -C',
  'git -C .',
  'cd /tmp && git status',
  'cd .. && git status',
  'cd sub && git diff a.txt ../../x',
  'git -c core.fsmonitor=./x status',
  'git --git-dir=/tmp/x status',
  'git --exec-path=. status',
  'git -p log',
  'git grep x',
  'git diff -Oa.txt',
  'git blame --contents=/etc/passwd a.txt',
  'git status $X',
  'git log $HOME',
  'git status; touch x',
  'git status > x',
  'GIT_DIR=x git status',
  'env git status',
  './git status',
  'git',
  'git status -v',
  'git outp',
  'git remote add x y',
  'git reflog expire --all',
  'git describe --dirty',
  'git cat-file --batch',
  'git status && git fetch',
  'git log --outp=x',
]

describe('read-only git', () => {
  it('runs unasked in modes ask and auto and prints what git prints', async () => {
    await using made = await repository()
    for (const command of looking) expect([command, await say(made, command)]).toEqual([command, 'run'])
    matches(await made.call('unified_exec', { action: 'run', command: 'git status --short' }), {
      ok: true,
      output: { stdout: ' M a.txt\n' },
    })
    matches(await made.call('unified_exec', { action: 'run', command: ['git', 'log', '--format=%s'] }), {
      ok: true,
      output: { stdout: 'first\n' },
    })
    await using asked = await repository({ mode: 'ask' })
    expect(await say(asked, 'git status')).toBe('run')
  })

  it('runs unasked in mode plan, with a read-only workspace, and denies any other git there', async () => {
    await using plan = await repository({ mode: 'plan' })
    for (const command of looking) expect([command, await say(plan, command)]).toEqual([command, 'run'])
    for (const command of more) expect([command, await say(plan, command)]).toEqual([command, 'deny'])
    await using confined = await repository({ mode: 'plan', sandbox: 'auto' })
    matches(await confined.call('unified_exec', { action: 'run', command: 'git status --short' }), {
      ok: true,
      output: { stdout: ' M a.txt\n', exit_code: 0 },
    })
  })

  it('denies git in mode plan where the repository would start a program', async () => {
    await using plan = await repository({ mode: 'plan' })
    git(plan.root, 'config', 'core.fsmonitor', 'touch marker')
    expect([await say(plan, 'git status'), await plan.read('marker')]).toEqual(['deny', undefined])
  })

  it('runs in full-auto as in auto', async () => {
    await using full = await repository({ mode: 'full-auto' })
    expect(await say(full, 'git status')).toBe('run')
    expect(await say(full, 'git push')).toBe('ask')
  })

  it('asks about any option, word or companion command that is not known to be harmless', async () => {
    await using made = await repository()
    for (const command of more) expect([command, await say(made, command)]).toEqual([command, 'ask'])
  })

  it('shows nothing that a read rule denies, under any name', async () => {
    await using made = await repository({ policy: { deny: ['Read(.env)'] } })
    expect(await say(made, 'git status')).toBe('run')
    expect(await say(made, 'git log --oneline')).toBe('run')
    for (const command of ['git show', 'git diff', 'git show HEAD'])
      expect([command, await say(made, command)]).toEqual([command, 'ask'])
    for (const command of ['git diff .env', 'git show HEAD:.env', 'git cat-file -p HEAD:.env'])
      expect([command, await say(made, command)]).toEqual([command, 'deny'])
    expect(await say(made, 'git log -p')).toBe('ask')
  })

  it('starts nothing that the user configuration or the repository attributes name', async () => {
    await using made = await repository()
    const marker = join(made.root, 'marker')
    await writeFile(join(made.root, '.gitattributes'), '*.txt diff=x filter=x\n')
    const home = join(made.root, 'home')
    await mkdir(home)
    await writeFile(
      join(home, '.gitconfig'),
      `[diff "x"]\n\ttextconv = touch ${marker}; cat\n[filter "x"]\n\tclean = touch ${marker}; cat\n[core]\n\tfsmonitor = touch ${marker}\n`,
    )
    const { HOME } = process.env
    process.env['HOME'] = home
    try {
      for (const command of ['git status', 'git diff', 'git show', 'git blame a.txt', 'git log --stat'])
        expect([command, await say(made, command), existsSync(marker)]).toEqual([command, 'run', false])
      git(made.root, 'diff')
      expect(existsSync(marker)).toBe(true)
    } finally {
      process.env['HOME'] = HOME
    }
  })

  it('asks when a program could still start, and none starts', async () => {
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
        await writeFile(join(made.root, '.git/hooks/post-index-change'), `#!/bin/sh\ntouch ${marker(made)}\n`, {
          mode: 0o755,
        })
      },
    }
    for (const [name, make] of Object.entries(cases)) {
      await using made = await repository()
      await make(made)
      for (const command of ['git status', 'git diff'])
        expect([name, command, await say(made, command), existsSync(marker(made))]).toEqual([
          name,
          command,
          'ask',
          false,
        ])
    }
  })

  it('asks when git is led into another repository, and starts nothing', async () => {
    for (const allow of [[], ['Bash(cd *)', 'Bash(git status *)']]) {
      await using made = await repository({ policy: { allow } })
      const [inner, marker] = [join(made.root, 'vendor'), join(made.root, 'marker')]
      await mkdir(inner)
      git(inner, 'init', '-q')
      git(inner, 'config', 'core.fsmonitor', `touch ${marker}`)
      for (const command of [
        'cd vendor && git status',
        'cd ./vendor; git status',
        'cd vendor || git status',
        `cd ${inner} && git status`,
      ])
        expect([command, await say(made, command), existsSync(marker)]).toEqual([command, 'ask', false])
      expect(await say(made, 'cd sub && git status')).toBe('run')
    }
  })

  it('asks in a folder below the workspace whose repository lies above', async () => {
    await using made = await bootKernel({ mode: 'auto' })
    git(join(made.root, '..'), 'init', '-q')
    expect(await say(made, 'git status')).toBe('ask')
  })

  it('ignores hooks of other git commands', async () => {
    await using made = await repository()
    await mkdir(join(made.root, '.git/hooks'), { recursive: true })
    await writeFile(join(made.root, '.git/hooks/pre-commit'), '#!/bin/sh\n', { mode: 0o755 })
    expect(await say(made, 'git status')).toBe('run')
  })

  it('runs in the sandbox too, if there is one', async () => {
    await using made = await repository({ sandbox: 'auto' })
    expect(await say(made, 'git status')).toBe('run')
  })
})

/** Runs every command and lists those that ran unasked or let a program of the repository start. */
async function wrong(made: Booted, commands: string[], input: object = {}): Promise<unknown[]> {
  const found: unknown[] = []
  for (const command of commands) {
    const said = await say(made, command, input)
    if (said !== 'ask' || existsSync(join(made.root, 'marker')))
      found.push([command, said, existsSync(join(made.root, 'marker'))])
  }
  return found
}
const program = (made: Booted): string => `touch ${join(made.root, 'marker')}; cat`
/** Makes a bare-looking repository as a clone would contain one: with a named working tree and a program. */
async function embedded(made: Booted, path: string): Promise<void> {
  const folder = join(made.root, path)
  await mkdir(join(folder, 'objects'), { recursive: true })
  await mkdir(join(folder, 'refs'), { recursive: true })
  await writeFile(join(folder, 'HEAD'), 'ref: refs/heads/main\n')
  await writeFile(
    join(folder, 'config'),
    `[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = ${made.root}\n\tfsmonitor = ${program(made)}\n`,
  )
}

describe('hostile repository', () => {
  const both = ['git status', 'git diff', 'git log --oneline']
  const attacks: Record<string, (made: Booted) => unknown> = {
    'a backslash at the end of a comment': (made) =>
      writeFile(
        join(made.root, '.git/config'),
        `[core]\n\tbare = false\n# harmless \\\n\tfsmonitor = "${program(made)}"\n`,
      ),
    'an include': async (made) => {
      await writeFile(join(made.root, 'more'), `[core]\n\tfsmonitor = "${program(made)}"\n`)
      git(made.root, 'config', 'include.path', '../more')
    },
    'a conditional include': async (made) => {
      await writeFile(join(made.root, 'more'), `[diff]\n\texternal = "${program(made)}"\n`)
      git(made.root, 'config', 'includeIf.onbranch:main.path', '../more')
    },
    'settings of the worktree': (made) => {
      git(made.root, 'config', 'extensions.worktreeConfig', 'true')
      git(made.root, 'config', '--worktree', 'core.fsmonitor', program(made))
    },
    'a filter of info/attributes': async (made) => {
      await mkdir(join(made.root, '.git/info'), { recursive: true })
      await writeFile(join(made.root, '.git/info/attributes'), '*.txt filter=x diff=x\n')
      git(made.root, 'config', 'filter.x.clean', program(made))
    },
    'a driver of differences': async (made) => {
      await writeFile(join(made.root, '.gitattributes'), '*.txt diff=x\n')
      git(made.root, 'config', 'diff.x.command', program(made))
    },
    'a remote that is a program': (made) =>
      git(made.root, 'config', 'remote.origin.url', `ext::sh -c "${program(made)}"`),
    'a working tree elsewhere': (made) => git(made.root, 'config', 'core.worktree', '/etc'),
    'a `.git` file that leads to a repository in the workspace': async (made) => {
      await rename(join(made.root, '.git'), join(made.root, 'store'))
      git(made.root, '--git-dir', 'store', 'config', 'core.fsmonitor', program(made))
      await writeFile(join(made.root, '.git'), 'gitdir: sub/../store\n')
    },
    'hooks through a link': async (made) => {
      await rm(join(made.root, '.git/hooks'), { recursive: true, force: true })
      await mkdir(join(made.root, 'tools'))
      await writeFile(join(made.root, 'tools/post-index-change'), `#!/bin/sh\n${program(made)}\n`, { mode: 0o755 })
      await symlink('../tools', join(made.root, '.git/hooks'))
    },
    'a pipe in the place of a list': (made) =>
      execFileSync('mkfifo', [join(made.root, '.git/objects/info/alternates')]),
  }
  it.each(Object.entries(attacks))('asks about git and starts nothing with %s', async (_, make) => {
    await using made = await repository()
    await make(made)
    expect(await wrong(made, both)).toEqual([])
    await using ask = await repository({ mode: 'ask', policy: { allow: ['Bash(git *)'] } })
    await make(ask)
    expect(await wrong(ask, rounds(['git diff'], both))).toEqual([])
  })

  it.each(['HEAD', 'config', 'packed-refs', 'commondir', 'config.worktree'])(
    'asks about a pipe in place of %s by its name and does not start git',
    async (name) => {
      await using made = await repository()
      await rm(join(made.root, '.git', name), { force: true })
      execFileSync('mkfifo', [join(made.root, '.git', name)])
      for (const command of both) {
        const explained = await made.kernel.explain('unified_exec', { action: 'run', command })
        expect([command, explained.verdict, JSON.stringify(explained)]).toEqual([
          command,
          'ask',
          expect.stringContaining(`'.git/${name}' is not a regular file`),
        ])
      }
    },
  )

  it('asks whichever setting might name a program', async () => {
    const keys = [
      'core.pager',
      'pager.status',
      'core.editor',
      'core.sshCommand',
      'core.askPass',
      'core.gitProxy',
      'core.alternateRefsCommand',
      'core.attributesFile',
      'gpg.program',
      'log.showSignature',
      'interactive.diffFilter',
      'alias.status',
      'merge.x.driver',
      'remote.origin.vcs',
      'remote.origin.uploadpack',
      'uploadpack.packObjectsHook',
      'trailer.x.command',
      'credential.helper',
      'sequence.editor',
      'blame.ignoreRevsFile',
      'trace2.eventTarget',
      'attr.tree',
      'pretty.x',
      'format.pretty',
      'diff.x.textconv',
      'submodule.x.update',
      'status.submoduleSummary',
      'diff.ignoreSubmodules',
      'mailmap.file',
      'extensions.unheard',
    ]
    await using made = await repository()
    const config = join(made.root, '.git/config')
    const before = await readFile(config, 'utf8')
    for (const key of keys) {
      const [section, ...names] = key.split('.')
      const name = names.pop()
      await writeFile(
        config,
        `${before}[${section}${names.map((subsection) => ` "${subsection}"`).join('')}]\n\t${name} = "${program(made)}"\n`,
      )
      expect([key, await wrong(made, ['git status'])]).toEqual([key, []])
    }
    await writeFile(config, before)
    expect(await say(made, 'git diff')).toBe('run')
  })

  it('asks for a repository of plain files reached by a link, `cd`, `workdir` or `-C`', async () => {
    for (const allow of [[], ['Bash(git *)', 'Bash(cd *)']]) {
      await using made = await repository({ policy: { allow } })
      await embedded(made, 'a/b/c')
      await symlink('a/b/c', join(made.root, 'link'))
      await symlink('b', join(made.root, 'a/second'))
      const into = ['link', 'a/b/c', 'a/second/c', './a//b/./c', 'a/b/c/refs', 'a/b/../b/c']
      const commands = rounds(allow.length > 0 ? ['git status'] : ['git status', 'git diff'], both)
      expect(
        await wrong(
          made,
          into.flatMap((path) =>
            commands.flatMap((command) => [`cd ${path} && ${command}`, `${command.replace('git', `git -C ${path}`)}`]),
          ),
        ),
      ).toEqual([])
      for (const workdir of into) expect([workdir, await wrong(made, commands, { workdir })]).toEqual([workdir, []])
      expect(await say(made, 'git status', { workdir: 'sub' })).toBe('run')
    }
  })

  it('shows no objects borrowed from another repository and no links that lead out', async () => {
    const ways: Record<string, (made: Booted, other: string) => unknown> = {
      'objects/info/alternates': async (made, other) => {
        await mkdir(join(made.root, '.git/objects/info'), { recursive: true })
        await writeFile(join(made.root, '.git/objects/info/alternates'), `${other}/.git/objects\n`)
      },
      'alternates of alternates': async (made, other) => {
        await mkdir(join(made.root, 'sub/objects/info'), { recursive: true })
        await mkdir(join(made.root, '.git/objects/info'), { recursive: true })
        await writeFile(join(made.root, 'sub/objects/info/alternates'), `# of others\n${other}/.git/objects\n`)
        await writeFile(join(made.root, '.git/objects/info/alternates'), '../../sub/objects\n')
      },
      'a link in the place of objects': async (made, other) => {
        await rename(join(made.root, '.git/objects'), join(made.root, '.git/old'))
        await symlink(`${other}/.git/objects`, join(made.root, '.git/objects'))
      },
      'a link below objects': (made, other) =>
        symlink(`${other}/.git/objects/pack`, join(made.root, '.git/objects/pack2')),
      'a link in the place of the log': async (made, other) => {
        await rm(join(made.root, '.git/logs/refs/heads/main'))
        await symlink(`${other}/.git/logs/HEAD`, join(made.root, '.git/logs/refs/heads/main'))
      },
      'a link whose lines git would print': (made, other) => symlink(`${other}/a.txt`, join(made.root, '.git/shallow')),
      'a `.git` file': async (made, other) => {
        await rename(join(made.root, '.git'), join(made.root, 'old'))
        await writeFile(join(made.root, '.git'), `gitdir: ${other}/.git\n`)
      },
      commondir: (made, other) => writeFile(join(made.root, '.git/commondir'), `${other}/.git\n`),
    }
    await using other = await repository()
    const head = git(other.root, 'rev-parse', 'HEAD').trim()
    for (const [name, make] of Object.entries(ways)) {
      await using made = await repository()
      await make(made, other.root)
      expect([name, await wrong(made, [`git show ${head}`, `git log ${head}`, 'git status', 'git reflog'])]).toEqual([
        name,
        [],
      ])
    }
  })

  it('asks when the index names a file outside, which git would show', async () => {
    await using made = await repository()
    await writeFile(join(made.home, 'x'), 'secret\n')
    await mkdir(join(made.root, 'deep/er'), { recursive: true })
    const file = join(made.root, '.git/index')
    const known = await readFile(file)
    const planted = Buffer.from(known.subarray(0, -20).toString('latin1').replace('sub/b.txt', '../home/x'), 'latin1')
    await writeFile(file, Buffer.concat([planted, createHash('sha1').update(planted).digest()]))
    expect(git(made.root, 'ls-files')).toContain('../home/x')
    expect(await wrong(made, ['git diff', 'git status', 'git diff --stat'])).toEqual([])
  })

  it('finds a program that appears after an earlier check', async () => {
    await using made = await repository()
    await new Promise((resolve) => setTimeout(resolve, 200))
    expect([await say(made, 'git status'), await say(made, 'git status')]).toEqual(['run', 'run'])
    git(made.root, 'config', 'core.fsmonitor', program(made))
    expect(await wrong(made, ['git status'])).toEqual([])
    git(made.root, 'config', '--unset', 'core.fsmonitor')
    expect(await say(made, 'git diff')).toBe('run')
    git(
      made.root,
      'update-index',
      '--add',
      '--cacheinfo',
      `160000,${git(made.root, 'rev-parse', 'HEAD').trim()},sub/inner`,
    )
    expect(await say(made, 'git status')).toBe('run')
    await rename(join(made.root, '.git'), join(made.root, 'sub/.git'))
    expect(await say(made, 'git diff', { workdir: 'sub' })).toBe('run')
    git(join(made.root, 'sub'), 'config', 'diff.external', program(made))
    expect(await wrong(made, ['git diff'], { workdir: 'sub' })).toEqual([])
  })

  it('leaves git its own repository, whatever variables the settings give to commands', async () => {
    await using other = await repository()
    git(other.root, 'config', 'core.fsmonitor', `touch ${join(other.root, 'marker')}`)
    await using made = await bootKernel({
      mode: 'auto',
      config: {
        sandbox: { mode: 'off' },
        exec: { env: { GIT_DIR: join(other.root, '.git'), GIT_EXTERNAL_DIFF: 'false' } },
      } as Config,
      files: { 'a.txt': 'one\n' },
    })
    git(made.root, 'init', '-q')
    matches(await made.call('unified_exec', { action: 'run', command: 'git rev-parse --git-dir' }), {
      ok: true,
      output: { stdout: '.git\n' },
    })
    expect([
      await say(made, 'git status'),
      await say(made, 'git diff'),
      existsSync(join(other.root, 'marker')),
    ]).toEqual(['run', 'run', false])
  })

  it('checks with a git that starts no watcher, hook or fetch and accepts no bare folder', async () => {
    await using programs = await tempWorkspace({})
    const real = execFileSync('which', ['git'], { encoding: 'utf8' }).trim()
    const shim = `#!/bin/sh\n[ "$1" = branch ] || exec ${real} "$@"\ni=0; while [ $i -lt "$GIT_CONFIG_COUNT" ]; do eval "echo \\"\\$GIT_CONFIG_KEY_$i=\\$GIT_CONFIG_VALUE_$i\\""; i=$((i+1)); done\necho "$GIT_NO_LAZY_FETCH $GIT_OPTIONAL_LOCKS $GIT_CONFIG_NOSYSTEM $GIT_CONFIG_GLOBAL"\n`
    await writeFile(join(programs.root, 'git'), shim, { mode: 0o755 })
    await using made = await repository({ env: { PATH: `${programs.root}:${process.env['PATH']}` } })
    const told = await made.call('unified_exec', { action: 'run', command: 'git branch' })
    const lines = told.ok ? String(told.output['stdout']).trim().split('\n') : []
    expect(lines).toEqual(
      expect.arrayContaining([
        'core.fsmonitor=false',
        'core.hooksPath=/dev/null',
        'core.pager=cat',
        'protocol.allow=never',
        'safe.bareRepository=explicit',
        'log.showSignature=false',
        '1 0 1 /dev/null',
      ]),
    )
  })

  it('starts no program at the command line or over MCP either', async () => {
    await using made = await repository()
    await embedded(made, 'a/b/c')
    await symlink('a/b/c', join(made.root, 'link'))
    const input = { action: 'run', command: 'git status', workdir: 'link' }
    const { stdout, code } = await vtcode(made, [
      'call',
      '--mode',
      'auto',
      '--config',
      'sandbox.mode=off',
      'unified_exec',
      '--input',
      JSON.stringify(input),
    ])
    expect([code, JSON.parse(stdout)]).toMatchObject([
      1,
      {
        ok: false,
        error: {
          code: 'VT_POLICY_NEEDS_APPROVAL',
          message: expect.stringContaining('the folder itself is a repository'),
        },
      },
    ])
    const client = new Client({ name: 'test', version: '1' })
    await client.connect(
      new StdioClientTransport({
        command: process.execPath,
        args: [bin, 'mcp', '--config', 'sandbox.mode=off'],
        cwd: made.root,
        env: surroundings(made),
      }),
    )
    try {
      const told = async (args: Record<string, unknown>) =>
        JSON.stringify(await client.callTool({ name: 'unified_exec', arguments: args }))
      expect(await told(input)).toContain('VT_POLICY_NEEDS_APPROVAL')
      expect(await told({ action: 'run', command: 'cd link && git diff' })).toContain('VT_POLICY_NEEDS_APPROVAL')
      expect(await told({ action: 'run', command: 'git status --short' })).toContain('a.txt')
    } finally {
      await client.close()
    }
    expect(existsSync(join(made.root, 'marker'))).toBe(false)
  })

  it('asks about options that set or lead elsewhere, whatever rule allows git', async () => {
    await using made = await repository({ policy: { allow: ['Bash(git *)'] } })
    const commands = [
      `git -c core.fsmonitor='${program(made)}' status`,
      'git -c alias.x=!touch\\ marker x',
      'git --git-dir=sub status',
      'git --git-dir sub status',
      'git --work-tree=/ status',
      'git --exec-path=. status',
      'git --config-env=core.pager=X log',
      'git -C /etc status',
      'git -C .. status',
      'git -C $X status',
    ]
    expect(await wrong(made, commands)).toEqual([])
    for (const command of [
      'git -c user.name=x -C sub status',
      'git --no-pager --literal-pathspecs log',
      'git -c color.ui=never -P diff',
    ])
      expect([command, await say(made, command)]).toEqual([command, 'run'])
  })
})

describe('repository of the user', () => {
  it('runs git unasked in worktrees, submodules, links and with odd but harmless settings', async () => {
    await using made = await bootKernel({
      mode: 'auto',
      config: { sandbox: { mode: 'off' }, manifests: ['!builtin:duplicate_calls'] },
      files: { 'plain/a.txt': 'a\n' },
    })
    const { root } = made
    git(root, 'init', '-q', '-b', 'main', 'plain')
    git(join(root, 'plain'), 'add', '.')
    git(join(root, 'plain'), 'commit', '-qm', 'first')
    git(root, 'clone', '-q', '--bare', 'plain', 'store')
    git(join(root, 'store'), 'worktree', 'add', '-q', '../tree', '-b', 'x')
    git(join(root, 'store'), 'worktree', 'add', '-q', 'inside', '-b', 'y')
    git(root, 'init', '-q', '-b', 'main', 'outer')
    git(
      join(root, 'outer'),
      '-c',
      'protocol.file.allow=always',
      'submodule',
      '--quiet',
      'add',
      join(root, 'plain'),
      'deep/lib',
    )
    git(join(root, 'outer'), 'commit', '-qm', 'sub')
    await symlink('plain', join(root, 'link'))
    for (const [key, value] of [
      ['remote.origin.gh-resolved', 'base'],
      ['branch.main.vscode-merge-base', 'origin/main'],
      ['core.ignoreCase', 'false'],
      ['branch.a.b.c.remote', 'origin'],
    ])
      git(join(root, 'plain'), 'config', key!, value!)
    await writeFile(join(root, 'outer/deep/lib/a.txt'), 'changed\n')
    for (const workdir of ['plain', 'tree', 'store/inside', 'outer', 'outer/deep/lib', 'link']) {
      for (const command of ['git status --short', 'git diff', 'git log --oneline'])
        expect([workdir, command, await say(made, command, { workdir })]).toEqual([workdir, command, 'run'])
    }
    matches(await made.call('unified_exec', { action: 'run', command: 'git status --short', workdir: 'outer' }), {
      ok: true,
      output: { stdout: ' m deep/lib\n' },
    })
    git(join(root, 'outer/deep/lib'), 'config', 'filter.x.clean', `touch ${join(root, 'marker')}; cat`)
    await writeFile(join(root, 'outer/.git/modules/deep/lib/info/attributes'), '* filter=x\n')
    await writeFile(join(root, 'outer/deep/lib/a.txt'), 'changes\n')
    expect(await wrong(made, ['git status', 'git diff'], { workdir: 'outer' })).toEqual([])
  })

  it('runs git unasked in a worktree whose outside repository names it', async () => {
    await using main = await repository()
    await using made = await bootKernel({ mode: 'auto', config: { sandbox: { mode: 'off' } } })
    git(main.root, 'worktree', 'add', '-q', join(made.root, 'tree'), '-b', 'x')
    expect(await say(made, 'git status', { workdir: 'tree' })).toBe('run')
    await cp(join(made.root, 'tree'), join(made.root, 'copy'), { recursive: true })
    expect(await wrong(made, ['git status', 'git log'], { workdir: 'copy' })).toEqual([])
  })

  it('asks about `diff.external` of the user and shows the difference after a yes', async () => {
    await using made = await repository()
    const { home } = made
    await writeFile(join(home, '.gitconfig'), '[diff]\n\texternal = echo shown by mine\n')
    const { HOME } = process.env
    process.env['HOME'] = home
    try {
      const refused = await made.call('unified_exec', { action: 'run', command: 'git diff' })
      matches(refused, {
        ok: false,
        error: {
          code: 'VT_POLICY_NEEDS_APPROVAL',
          message: "re:.*the user's own git configuration has differences shown by 'echo shown by mine'.*",
        },
      })
      matches(await made.call('unified_exec', { action: 'run', command: 'git diff ' }, { approve: () => true }), {
        ok: true,
        output: { stdout: 're:shown by mine a\\.txt [^]*' },
      })
      expect(await say(made, 'git status')).toBe('run')
      expect(await say(made, 'git show')).toBe('run')
    } finally {
      process.env['HOME'] = HOME
    }
  })

  it.each(['in a repository', 'outside of one'])(
    'notices an included configuration file that appears later, %s',
    async (place) => {
      await using made =
        place === 'in a repository'
          ? await repository()
          : await bootKernel({
              mode: 'auto',
              config: { sandbox: { mode: 'off' }, manifests: ['!builtin:duplicate_calls'] },
              files: { 'a.txt': '' },
            })
      const home = join(made.root, 'home')
      await mkdir(home)
      await writeFile(join(home, '.gitconfig'), '[include]\n\tpath = more\n')
      const { HOME } = process.env
      process.env['HOME'] = home
      try {
        // Results for files that changed a moment ago are not cached.
        await new Promise((resolve) => setTimeout(resolve, 200))
        for (let round = 0; round < 2; round += 1) expect(await say(made, 'git diff')).toBe('run')
        await writeFile(join(home, 'more'), '[diff]\n\texternal = echo shown by mine\n')
        expect(await say(made, 'git diff')).toBe('ask')
      } finally {
        process.env['HOME'] = HOME
      }
    },
  )
})

describe('words decided at run time', () => {
  it('shows and reads nothing unasked for a word that only the run decides', async () => {
    await using made = await repository()
    for (const command of [
      'echo $HOME',
      'echo $SECRET',
      'echo ${HOME:-$(id)}',
      'echo ${!HOME}',
      'echo ${HOME@P}',
      'printf $HOME',
      'cat $HOME/x',
      'ls $HOME',
      '$SHELL',
      '$HOME/x',
      'echo x > $HOME/y',
      'cat < $HOME/x',
      '[ -n $HOME ]',
      'HOME=x; echo $HOME',
      'sh -c $HOME',
      'echo $1',
      'echo $@',
    ]) {
      expect([command, await say(made, command)]).toEqual([command, 'ask'])
    }
  })
})
