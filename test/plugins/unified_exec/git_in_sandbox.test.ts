import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel, type Booted } from 'vtcode/test'
import { beforeAll, describe, expect, it } from 'vitest'
import { holdForFile } from '../../support/held.js'
import { lacks, output } from '../../support/exec.js'

const none = lacks('bwrap', 'git')

describe.skipIf(none)(`git in the sandbox${none ? ' (SKIPPED: needs bwrap and git)' : ''}`, () => {
  let booted: Booted
  const git = (...args: string[]): string => execFileSync('git', args, { cwd: booted.root, encoding: 'utf8' })
  const run = async (command: string): Promise<string> => {
    const { stdout, stderr, exit_code } = await output(booted, { action: 'run', command })
    expect({ command, exit_code, stderr }).toMatchObject({ exit_code: 0 })
    return stdout
  }
  beforeAll(async () => {
    booted = holdForFile(
      await bootKernel({
        config: { sandbox: { mode: 'required' }, policy: { sandboxed_commands: 'allow' } },
        files: { 'a.txt': 'a\n', '.vtcode/rules/team.md': 'A rule of the team.\n' },
      }),
    )
    git('init', '-q', '-b', 'main')
    git('config', 'user.email', 'a@example.org')
    git('config', 'user.name', 'a')
    // A long output is kept in a file before git runs.
    await run('seq 30000')
    expect(existsSync(join(booted.root, '.vtcode/spool/.gitignore'))).toBe(true)
  })

  it('shows and commits nothing of the state of this machine, but the files of a team', async () => {
    expect(await run('git status --porcelain --untracked-files=all')).toBe('?? .vtcode/rules/team.md\n?? a.txt\n')
    await run('git add -A && git commit -q -m first')
    expect(await run('git ls-files')).toBe('.vtcode/rules/team.md\na.txt\n')
  })
  it('stashes and restores untracked files of the user alone', async () => {
    await run('echo b > b.txt; git stash -q -u')
    expect(git('show', '--stat', '--format=', 'stash@{0}^3')).toMatch(/^ b\.txt \| 1 \+\n 1 file changed/)
    await run('git stash pop -q')
    expect(readFileSync(join(booted.root, 'b.txt'), 'utf8')).toBe('b\n')
  })
  it('cleans untracked files of the user alone', async () => {
    expect(await run('git clean -fd')).toBe('Removing b.txt\n')
    expect(existsSync(join(booted.root, '.vtcode/spool/.gitignore'))).toBe(true)
    expect(git('status', '--porcelain')).toBe('')
  })
  it('uses a worktree inside the workspace like the repository', async () => {
    await run('git worktree add -q tree -b tree && cd tree && echo c > c.txt && git add -A && git commit -q -m second')
    expect(git('ls-tree', '-r', '--name-only', 'tree')).toBe('.vtcode/rules/team.md\na.txt\nc.txt\n')
  })
})
