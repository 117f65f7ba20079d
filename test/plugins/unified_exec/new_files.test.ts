import { spawnSync } from 'node:child_process'
import { cpSync, existsSync, lstatSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { call, eventually, lacks } from '../../support/exec.js'

const none = lacks('bwrap', 'git')
const git = (cwd: string, ...args: string[]): void => void spawnSync('git', args, { cwd })

describe.skipIf(none)(
  `auto-executed config made by a sandboxed command${none ? ' (SKIPPED: needs bwrap and git)' : ''}`,
  () => {
    let booted: Booted
    beforeEach(async () => {
      booted = await bootKernel({ config: { sandbox: { mode: 'required' } } })
      git(booted.root, 'init', '-q', '.')
    })
    afterEach(() => booted[Symbol.asyncDispose]())
    const there = (path: string): boolean => existsSync(join(booted.root, path))
    // The command line shows nothing of what the script writes.
    const run = async ({ command, ...input }: { command: string; background?: boolean }) => {
      writeFileSync(join(booted.root, 'do.sh'), command)
      const result = await call(booted, { action: 'run', command: 'sh do.sh', ...input })
      if (!result.ok) throw new Error(JSON.stringify(result.error))
      return result
    }
    const told = (result: { notices?: { code: string; message: string }[] }) =>
      result.notices?.map(({ code }) => code) ?? []
    const aside = (): string[] =>
      there('.vtcode/aside')
        ? readdirSync(join(booted.root, '.vtcode/aside')).filter((name) => name !== '.gitignore')
        : []

    it.each([
      ['leads to itself', 'ln -s .git'],
      ['leads through a name that is too long', 'ln -s "$(printf %0300d 1)"'],
    ])('moves auto-executed config away next to a `.git` that %s and runs the next command', async (_, link) => {
      const result = await run({ command: `mkdir sub; ${link} sub/.git; echo evil > .envrc; echo {} > .mcp.json` })
      expect(told(result)).toEqual(['VT_EXEC_PUT_ASIDE'])
      expect(
        ['.envrc', '.mcp.json', 'sub/.git'].filter((path) =>
          lstatSync(join(booted.root, path), { throwIfNoEntry: false }),
        ),
      ).toEqual([])
      expect(told(await run({ command: 'true' }))).toEqual([])
    })

    it.each([
      ['.envrc', 'echo evil > .envrc'],
      ['.mcp.json', 'echo {} > .mcp.json'],
      ['.vscode', 'mkdir .vscode && echo {} > .vscode/tasks.json'],
      ['.VSCODE', 'mkdir .VSCODE && echo {} > .VSCODE/tasks.json'],
      ['.husky', 'mkdir .husky && echo x > .husky/pre-commit'],
      ['vtcode.config.ts', 'echo x > vtcode.config.ts'],
      ['a.code-workspace', 'echo {} > a.code-workspace'],
      ['.config/zed', 'mkdir -p .config/zed && echo {} > .config/zed/settings.json'],
      ['sub/.envrc', 'mkdir sub; echo evil > sub/.envrc'],
      ['.claude', 'ln -s sub .claude'],
      ['.git/config.worktree', 'printf "[core]\\nfsmonitor = touch x\\n" > .git/config.worktree'],
      ['.git/commondir', 'echo ../sub > .git/commondir'],
      ['.git/COMMIT_EDITMSG', 'ln -sf ../plain .git/COMMIT_EDITMSG'],
      ['.git/logs/HEAD', 'mkdir -p .git/logs; ln -sf /elsewhere/.bashrc .git/logs/HEAD'],
      ['.git/refs/heads', 'rm -r .git/refs/heads; ln -s ../../plain .git/refs/heads'],
      ['a/b/c/d/e/f/.envrc', 'mkdir -p a/b/c/d/e/f; echo evil > a/b/c/d/e/f/.envrc'],
      ['.git/info/attributes', 'rm -f .git/info/attributes; echo "* diff=x" > .git/info/attributes'],
      ['.git/objects/info/alternates', 'mkdir -p .git/objects/info; echo /elsewhere > .git/objects/info/alternates'],
    ])('moves auto-executed config away and names it: %s', async (path, command) => {
      if (path === '.git/info/attributes') spawnSync('rm', ['-rf', '.git/info'], { cwd: booted.root })
      const result = await run({
        command: path === '.git/info/attributes' ? `mkdir -p .git/info; ${command}` : command,
      })
      expect(there(path)).toBe(false)
      // One command also deletes references of git, which a revert restores.
      const codes = ['VT_EXEC_PUT_ASIDE', ...(path === '.git/refs/heads' ? ['VT_EXEC_CHANGED'] : [])]
      expect(told(result)).toEqual(codes)
      expect(result.notices![0]!.message).toContain(`${path} (now .vtcode/aside/`)
      const [place] = aside()
      expect(lstatSync(join(booted.root, '.vtcode/aside', place!, path), { throwIfNoEntry: false })).toBeDefined()
    })

    it('moves new git hooks away where the hooks folder was missing before', async () => {
      spawnSync('rm', ['-rf', '.git/hooks'], { cwd: booted.root })
      await run({
        command:
          'mkdir .git/hooks; printf "#!/bin/sh\\ntouch ran\\n" > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit',
      })
      expect(there('.git/hooks')).toBe(false)
      git(booted.root, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-q', '--allow-empty', '-m', 'one')
      expect(there('ran')).toBe(false)
    })

    it.each([
      [
        'with settings that start programs',
        'git init -q sub && git -C sub config core.fsmonitor "touch ran"',
        'sub/.git',
      ],
      ['with a hook', 'git init -q sub && echo x > sub/.git/hooks/post-checkout', 'sub/.git'],
      [
        'without a working tree, with an alias',
        'git init -q --bare store && git -C store config alias.st "!touch ran"',
        'store',
      ],
      [
        'with a link through which git would write',
        'git init -q sub && ln -s ../../plain sub/.git/COMMIT_EDITMSG',
        'sub/.git',
      ],
      ['named by a file that leads out', 'mkdir sub && echo "gitdir: /tmp/elsewhere" > sub/.git', 'sub/.git'],
      [
        'named by a file that leads to a planted one',
        'git init -q --bare store && git -C store config core.fsmonitor "touch ran"; mkdir sub && echo "gitdir: ../store" > sub/.git',
        'store',
      ],
    ])('moves away a repository %s', async (_, command, path) => {
      const result = await run({ command })
      expect(result.notices?.find(({ code }) => code === 'VT_EXEC_PUT_ASIDE')?.message).toContain(`${path} (now`)
      expect(there(path)).toBe(false)
    })

    it('keeps a repository, worktree or clone that git made and reports it', async () => {
      mkdirSync(join(booted.root, 'from'))
      git(booted.root, 'init', '-q', 'from')
      writeFileSync(join(booted.root, 'from/.envrc'), 'x')
      for (const cwd of ['.', 'from']) {
        git(join(booted.root, cwd), 'add', '-A', '.envrc')
        git(
          join(booted.root, cwd),
          '-c',
          'user.name=a',
          '-c',
          'user.email=a@b.c',
          'commit',
          '-q',
          '--allow-empty',
          '-m',
          'one',
        )
      }
      for (const [command, path] of [
        ['git init -q fresh', 'fresh/.git'],
        ['git clone -q from copy', 'copy/.git'],
        ['git clone -q --bare from bare', 'bare'],
        ['git worktree add -q tree', 'tree/.git'],
      ] as const) {
        const result = await run({ command })
        expect([command, told(result), there(path)]).toEqual([command, ['VT_EXEC_NEW_REPOSITORY'], true])
        expect(result.notices![0]!.message).toContain(path)
      }
      expect([there('copy/.envrc'), aside()]).toEqual([true, []])
      expect((await run({ command: 'git -C tree status --short; git -C copy log --oneline' })).notices).toBeUndefined()
    })

    it('moves auto-executed config away at each poll of a running command and at its end', async () => {
      const { output } = (await run({
        command: 'touch .envrc; sleep 1; touch .mcp.json',
        background: true,
      })) as unknown as { output: { session_id: string } }
      expect(
        await eventually(
          async () =>
            (await call(booted, { action: 'poll', session_id: output.session_id, yield_time_ms: 0 })) &&
            !there('.envrc') &&
            aside().length > 0,
        ),
      ).toBe(true)
      expect(await eventually(() => aside().length === 2 && !there('.mcp.json'))).toBe(true)
    })

    it('limits the sandbox mounts for many repositories: git writes in the first ones and in that of the workdir', async () => {
      const names = Array.from({ length: 40 }, (_, index) => `packages/p${10 + index}`)
      for (const name of names) cpSync(join(booted.root, '.git'), join(booted.root, name, '.git'), { recursive: true })
      const mounts = 'wc -l </proc/self/mountinfo'
      const all = await run({ command: mounts })
      expect(Number((all.output as unknown as { stdout: string }).stdout)).toBeLessThan(names.length * 2 + 16 * 7 + 80)
      const commit = 'git -c user.name=a -c user.email=a@b.c commit -q --allow-empty -m one'
      const plant = 'mv .git away || mv ../p49 ../away || echo x > .git/hooks/pre-commit || echo x >> .git/config'
      expect(told(await run({ command: `${commit}; cd packages/p10; ${commit}` }))).toEqual([])
      const last = await run({ command: `cd packages/p49; ${commit}` })
      expect([told(last), last.notices?.[0]?.message]).toEqual([
        ['VT_EXEC_REPOSITORY_KEPT'],
        expect.stringContaining('workdir'),
      ])
      for (const name of ['packages/p10', 'packages/p49'])
        expect((await run({ command: `cd ${name}; ${plant}` })).output).toMatchObject({
          exit_code: expect.not.toBeOneOf([0]) as number,
        })
      writeFileSync(join(booted.root, 'packages/p49/do.sh'), commit)
      expect(await call(booted, { action: 'run', command: 'sh do.sh', workdir: 'packages/p49' })).toMatchObject({
        ok: true,
        output: { exit_code: 0 },
      })
    })

    it('reports once a session that not all of a large workspace was searched', async () => {
      const isReported = (result: Parameters<typeof told>[0]): boolean => told(result).includes('VT_EXEC_SEARCH_LIMIT')
      expect(isReported(await run({ command: 'true' }))).toBe(false)
      const large = await run({
        command: 'mkdir $(seq -f f%g 1100); mkdir f1100/z; touch f1100/z/.envrc',
      })
      expect(large.notices?.find(({ code }) => code === 'VT_EXEC_SEARCH_LIMIT')?.message).toContain(
        'more than 1000 folders',
      )
      expect(there('f1100/z/.envrc')).toBe(true)
      expect(isReported(await run({ command: 'true' }))).toBe(false)
    })

    it('runs commands and deletes folders in a workspace of 200 packages', async () => {
      for (let index = 0; index < 200; index++) {
        mkdirSync(join(booted.root, `packages/group${index % 9}/p${index}/src`), { recursive: true })
        for (const [name, text] of [
          ['package.json', '{}'],
          ['src/a.js', 'x\n'],
          ['AGENTS.md', 'x\n'],
        ] as const)
          writeFileSync(join(booted.root, `packages/group${index % 9}/p${index}`, name), text)
      }
      git(booted.root, 'add', '.')
      git(booted.root, '-c', 'user.name=a', '-c', 'user.email=a@b.c', 'commit', '-q', '-m', 'one')
      const made = await booted.call(
        'unified_exec',
        { action: 'run', command: 'echo y > packages/group1/p190/src/a.js && git status --short packages' },
        { approve: () => true },
      )
      expect(made).toMatchObject({ ok: true, output: { stdout: ' M packages/group1/p190/src/a.js\n', exit_code: 0 } })
      expect(await booted.call('unified_exec', { action: 'run', command: 'git diff --stat' })).toMatchObject({
        ok: true,
        output: { exit_code: 0 },
      })
      expect(
        await booted.call(
          'unified_file',
          { action: 'delete', path: 'packages/group2', recursive: true },
          { approve: () => true },
        ),
      ).toMatchObject({ ok: true })
    })

    it('keeps auto-executed config that existed before and new files that run nothing', async () => {
      writeFileSync(join(booted.root, '.envrc'), 'mine')
      const result = await run({ command: 'echo a > plain; mkdir -p .github .vtcode/plans; git add plain' })
      expect([result.notices, there('.envrc'), there('plain')]).toEqual([undefined, true, true])
    })
  },
)
