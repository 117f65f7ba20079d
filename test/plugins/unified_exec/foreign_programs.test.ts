import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createKernel, type Config, type Kernel } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { afterEach, describe, expect, it } from 'vitest'
import { hold } from '../../support/held.js'
import { lacks } from '../../support/exec.js'

const none = lacks('bwrap', 'git')
const { PATH } = process.env
const git = (cwd: string, ...args: string[]): void =>
  void spawnSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd })

/** A repository whose own programs are first in PATH; each leaves a marker and then does its usual work. */
async function openRepository(): Promise<{ root: string; home: string; bin: string; marker: string }> {
  const place = hold(await tempWorkspace({ 'repo/sub/a.txt': 'a\n' }))
  const repo = join(place.root, 'repo')
  git(repo, 'init', '-q')
  git(repo, 'commit', '-q', '--allow-empty', '-m', 'one')
  git(repo, 'worktree', 'add', '-q', '../tree', '-b', 'x')
  const bin = join(repo, 'venv/bin')
  const marker = join(place.root, 'marker')
  mkdirSync(bin, { recursive: true })
  for (const name of ['git', 'bwrap', 'prlimit', 'env', 'sh']) {
    writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} >>${marker}\nPATH=/usr/bin:/bin exec ${name} "$@"\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return { root: place.root, home: place.home, bin, marker }
}

describe.skipIf(none)(`programs of a repository in PATH${none ? ' (SKIPPED: needs bwrap and git)' : ''}`, () => {
  afterEach(() => void (process.env.PATH = PATH))

  it.each([
    ['the workspace', 'repo'],
    ['the repository around the workspace', 'repo/sub'],
    ['the repository of a worktree', 'tree'],
  ])('starts no program of %s and gives its folder to no hook and no server', async (_, folder) => {
    const { root, home, bin, marker } = await openRepository()
    process.env.PATH = `${bin}:${PATH}`
    const show = (name: string) => `printf '%s\\n' "$PATH" >>'${join(root, name)}'`
    const kernel: Kernel = await createKernel({
      workspace: join(root, folder),
      home,
      mode: 'full-auto',
      config: {
        automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec'] } },
        sandbox: { mode: 'required' },
        hooks: { PostToolUse: [{ hooks: [{ type: 'command', command: show('hook') }] }] },
        mcp: { servers: { one: { command: 'sh', args: ['-c', show('server')] } } },
      } as Config,
    })
    hold({ [Symbol.asyncDispose]: () => kernel.close() })
    expect(await kernel.call('unified_exec', { action: 'run', command: 'git status' })).toMatchObject({ ok: true })
    expect(await kernel.call('unified_file', { action: 'write', path: 'b.txt', content: 'b' })).toMatchObject({
      ok: true,
    })
    for (const name of ['hook', 'server'])
      expect([name, readFileSync(join(root, name), 'utf8')]).toEqual([name, expect.not.stringContaining(bin)])
    expect(existsSync(marker)).toBe(false)
  })
})
