import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, symlink } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Approval, Config, JsonObject, Mode, Result } from 'vtcode'
import { lacks } from '../../support/exec.js'
import { hold, holdForFile } from '../../support/held.js'
import { vtcode } from '../../support/program.js'

let plugins: TempWorkspace
beforeAll(async () => {
  const slot = (name: string, effect: string): string =>
    `name: ${name}\neffects: [${effect}]\ndescription: Does nothing.\nmodule: ./done.js\ninput: { properties: { path: { type: string, format: workspace-path }, destination: { type: string, format: workspace-path }, patch: { type: string } } }\n`
  plugins = await tempWorkspace({
    'done.js': 'export default () => ({ ok: true, output: {} })\n',
    'put.yaml': slot('put', 'write'),
    'look.yaml': slot('look', 'read'),
  })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const boot = (mode: Mode, files: Record<string, string> = {}): Promise<Booted> =>
  bootKernel({ mode, files, manifests: [plugins.root] })
/** Returns the shared kernel of that name; its calls change nothing. */
const kernels = new Map<string, Promise<Booted>>()
function shared(name: string, open: () => Promise<Booted>): Promise<Booted> {
  if (!kernels.has(name)) kernels.set(name, open().then(holdForFile))
  return kernels.get(name)!
}
const kernelOf = (mode: Mode): Promise<Booted> => shared(mode, () => boot(mode))
const word = (result: Result): string =>
  result.ok
    ? 'run'
    : ({ VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code)
const put = async (booted: Booted, input: JsonObject): Promise<string> => word(await booted.call('put', input))

describe('protected paths', () => {
  const sealed = [
    '.git/config',
    '.git/hooks/pre-commit',
    'sub/module/.git/hooks/x',
    '.GIT/config',
    '.Git',
    '.git',
    '.vtcode/tool-policy.json',
    '.vtcode',
    '.VTCODE/config.yaml',
    '.vtcode/plans',
    'a/../.git/x',
    '.vtcode/plans/.git/config',
    '.vtcode/plans/a/.GIT/hooks/x',
    '.vtcode/plans/../config.yaml',
  ]
  it('names the file of a patch without the prefix of git', async () => {
    const patch = 'diff --git a/.gitmodules b/.gitmodules\n--- a/.gitmodules\n+++ b/.gitmodules\n@@ -1 +1 @@\n-a\n+b\n'
    const result = await (await kernelOf('auto')).call('put', { patch })
    expect(result).toMatchObject({
      error: { message: "'.gitmodules' is auto-executed config of git." },
    })
  })

  it.each(sealed)('denies %s in every mode, existing or not, whatever an approver answers', async (path) => {
    for (const mode of ['plan', 'ask', 'auto', 'full-auto'] as const) {
      const booted = await kernelOf(mode)
      expect([mode, word(await booted.call('put', { path }, { approve: () => true }))]).toEqual([mode, 'deny'])
    }
  })

  const guarded = [
    '.vscode/tasks.json',
    '.VSCode/settings.json',
    'sub/.vscode/launch.json',
    'app.code-workspace',
    '.cursor/mcp.json',
    '.gemini/settings.json',
    '.codex/config.toml',
    '.zed/tasks.json',
    '.devcontainer/devcontainer.json',
    '.devcontainer.json',
    '.idea/workspace.xml',
    'opencode.json',
    '.opencode/plugin/a.ts',
    '.githooks/pre-push',
    '.envrc',
    '.gitmodules',
    'sub/.vtcode/config.yaml',
    '.h\u200busky/pre-commit',
    'vtcode.config.ts',
    'vtcode.config.yaml',
    '.mcp.json',
    '.agents/skills/x/SKILL.md',
    '.claude/settings.json',
    '.husky/pre-commit',
    '.bashrc',
    'home/.zshrc',
    '.Profile',
    'sub/.mcp.json',
    '.vtcode/plans/.envrc',
    '.vtcode/plans/a/.vscode/tasks.json',
    '.vtcode/plans/vtcode.config.json',
    '.pre-commit-config.yaml',
    'sub/lefthook.yml',
    '.lefthook.yaml',
    'lefthook-local.yml',
    '.overcommit.yml',
    'lefthook.toml',
    '.git-hooks/pre_commit/a.rb',
    '.hg/hgrc',
    'sub/.jj/repo/config.toml',
    '.github/hooks/a.json',
    '.pi/extensions/a.ts',
    '.helix/languages.toml',
    '.kilocode/mcp.json',
    '.npmrc',
    'packages/a/.npmrc',
    '.tool-versions',
    'mise.toml',
    'mise.local.toml',
    '.mise.toml',
    '.config/mise/conf.d/a.toml',
    'mise/config.toml',
    '.vimrc',
    '.exrc',
    '.nvim.lua',
    '.kiro/settings/mcp.json',
    '.windsurf/hooks.json',
    '.roo/mcp.json',
    '.amazonq/mcp.json',
    '.continue/mcpServers/a.yaml',
    '.junie/mcp/mcp.json',
    'crush.json',
    '.vs/mcp.json',
    '.Rprofile',
    'sub/.pdbrc',
    '.aider.conf.yml',
    '.openhands/setup.sh',
    '.gitpod.yml',
    'devbox.json',
    '.vs/tasks.vs.json',
    'a.sublime-project',
    '.run/a.run.xml',
  ]
  it.each(guarded)('asks about %s, in full-auto too', async (path) => {
    const auto = await kernelOf('auto')
    const full = await kernelOf('full-auto')
    expect(await put(auto, { path })).toBe('ask')
    expect(word(await auto.call('put', { path }, { approve: () => true }))).toBe('run')
    expect(await put(full, { path })).toBe('ask')
  })

  it.each([
    '.gitignore',
    '.github/workflows/ci.yml',
    'git/config',
    '.vtcode/plans/next.md',
    'src/.vtcodex',
    'docs/.git.md',
    'vtcode.configs',
    '.env',
    'package.json',
    '.gitattributes',
    '.nvmrc',
    'Makefile',
    'mise/tasks/build',
    'src/mise.ts',
    '.vs/slnx.sqlite',
    'lefthook/README.md',
    '.gdbinit',
    '.dir-locals.el',
  ])('allows %s as an ordinary path', async (path) => {
    const booted = await kernelOf('auto')
    expect(await put(booted, { path })).toBe('run')
  })

  it('finds protected paths through links, at either end of a move and in the text of a patch', async () => {
    await using booted = await boot('auto', { '.git/config': '', '.git/hooks/pre-push': '', 'src/a': '' })
    await symlink('.git', join(booted.root, 'innocent'))
    await symlink('../.git/config', join(booted.root, 'src/link'))
    expect(await put(booted, { path: 'innocent/hooks/pre-commit' })).toBe('deny')
    expect(await put(booted, { path: 'src/link' })).toBe('deny')
    // The link target need not exist yet.
    await symlink('../.git/hooks/post-commit', join(booted.root, 'src/later'))
    expect(await put(booted, { path: 'src/later' })).toBe('deny')
    expect(await put(booted, { path: 'src/a', destination: '.git/hooks/post-merge' })).toBe('deny')
    expect(await put(booted, { patch: '*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch' })).toBe('deny')
    expect(
      await put(booted, { patch: '*** Begin Patch\n*** Update File: src/a\n*** Move to: .mcp.json\n*** End Patch' }),
    ).toBe('ask')
    expect(await put(booted, { patch: 'diff --git a/x b/x\n--- a/x\n+++ b/.git/config\n@@ -1 +1 @@\n' })).toBe('deny')
    expect(await put(booted, { patch: 'rename from x\nrename to .vtcode/config.yaml\n' })).toBe('deny')
  })

  it('protects the folder that a `.git` file points to', async () => {
    await using booted = await boot('auto', { '.git': 'gitdir: store/repo\n' })
    await mkdir(join(booted.root, 'store/repo'), { recursive: true })
    expect(await put(booted, { path: 'store/repo/config' })).toBe('deny')
    expect(await put(booted, { path: 'store/other' })).toBe('run')
  })

  it('protects every repository: bare with worktrees, a submodule, and any folder that a `.git` names', async () => {
    await using booted = await boot('auto', { 'plain/a': '', 'git.txt': '' })
    const git = (...args: string[]): void =>
      void execFileSync(
        'git',
        ['-c', 'user.name=a', '-c', 'user.email=a@b.c', '-c', 'protocol.file.allow=always', ...args],
        { cwd: booted.root, stdio: 'pipe' },
      )
    git('init', '-q', 'plain')
    git('-C', 'plain', 'commit', '-q', '--allow-empty', '-m', 'one')
    git('clone', '-q', '--bare', 'plain', 'store')
    git('-C', 'store', 'worktree', 'add', '-q', '../tree', '-b', 'x')
    git('init', '-q', 'outer')
    git('-C', 'outer', 'submodule', '--quiet', 'add', join(booted.root, 'plain'), 'lib')
    for (const path of [
      'store/config',
      'store/hooks/post-checkout',
      'store/worktrees/tree/commondir',
      'store/info/attributes',
      'tree/.git',
      'outer/.git/modules/lib/config',
      'outer/lib/.git',
    ]) {
      expect([path, await put(booted, { path })]).toEqual([path, 'deny'])
    }
    for (const path of ['tree/config', 'outer/lib/new', 'plain/hooks/a', 'store.txt'])
      expect([path, await put(booted, { path })]).toEqual([path, 'run'])
  })

  it('protects what git settings name: the hooks folder and included files', async () => {
    await using booted = await boot('auto', { 'tools/hooks/a': '', 'src/a': '' })
    const git = (...args: string[]): void => void execFileSync('git', args, { cwd: booted.root, stdio: 'pipe' })
    git('init', '-q')
    for (const path of ['tools/hooks/pre-commit', 'shared.gitconfig']) expect(await put(booted, { path })).toBe('run')
    git('config', 'core.hooksPath', 'tools/hooks')
    await booted.write('shared.gitconfig', '[user]\n\tname = a\n')
    git('config', 'include.path', '../shared.gitconfig')
    for (const path of ['tools/hooks/pre-push', 'tools/hooks', 'shared.gitconfig'])
      expect([path, await put(booted, { path })]).toEqual([path, 'ask'])
    expect(word(await booted.call('unified_file', { action: 'move', path: 'tools', destination: 'moved' }))).toBe('ask')
    for (const path of ['tools/other', 'src/a']) expect([path, await put(booted, { path })]).toEqual([path, 'run'])
  })

  it('leaves a worktree inside its bare repository writable', async () => {
    await using booted = await boot('auto')
    const git = (...args: string[]): void =>
      void execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], {
        cwd: booted.root,
        stdio: 'pipe',
      })
    git('init', '-q', '--bare', '.')
    await mkdir(join(booted.root, 'main'))
    await booted.write('main/.git', 'gitdir: ../worktrees/main\n')
    for (const path of ['config', 'hooks/pre-push', 'config.worktree', 'worktrees/main/gitdir', 'main/.git'])
      expect([path, await put(booted, { path })]).toEqual([path, 'deny'])
    for (const path of ['main/src/a.ts', 'main/config', 'notes.md'])
      expect([path, await put(booted, { path })]).toEqual([path, 'run'])
  })

  it('denies the last part of a repository that calls put together, and all parts at once', async () => {
    await using booted = await boot('auto')
    for (const [folder, order] of [
      ['x', ['HEAD', 'config', 'objects/a', 'refs/heads/b']],
      ['y/deep', ['refs/a', 'objects/info/b', 'hooks/post-checkout', 'HEAD']],
      ['z', ['config', 'HEAD', 'commondir']],
    ] as const) {
      for (const name of order.slice(0, -1)) {
        expect([folder, name, await put(booted, { path: `${folder}/${name}` })]).toEqual([folder, name, 'run'])
        await booted.write(`${folder}/${name}`, 'x')
      }
      expect([folder, await put(booted, { path: `${folder}/${order.at(-1)}` })]).toEqual([folder, 'deny'])
    }
    const input = `*** Begin Patch\n${['HEAD', 'config', 'objects/a', 'refs/b'].map((name) => `*** Add File: all/${name}\n+x\n`).join('')}*** End Patch\n`
    expect(await booted.call('apply_patch', { input })).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED' },
    })
    await booted.write('parts/refs/a', '')
    expect(
      await booted.call('unified_file', { action: 'move', path: 'parts/refs', destination: 'x/refs' }),
    ).toMatchObject({ ok: false, error: { code: 'VT_POLICY_DENIED' } })
  })

  it('asks about the configuration file of every client that setup knows', async () => {
    await using booted = await boot('auto')
    await using workspace = await tempWorkspace({})
    for (const client of ['claude-code', 'codex', 'vscode', 'zed', 'cursor', 'gemini', 'opencode']) {
      const { stdout } = await vtcode(workspace, ['setup', client])
      const file = stdout.split('\n')[0]!
      const path = relative(file.startsWith(`${workspace.root}/`) ? workspace.root : workspace.home, file)
      expect([client, path, await put(booted, { path })]).toEqual([client, path, 'ask'])
    }
  })

  it('finds protected paths below a folder that is moved, copied or deleted, and at its destination', async () => {
    const files = {
      'kit/.vscode/tasks.json': '{}',
      'kit/a': '',
      'vendor/lib/.git/config': '',
      'plain/deep/a': '',
      'dot/zed/settings.json': '',
      'node_modules/x/.vscode/a': '',
    }
    const moves: [JsonObject, string][] = [
      [{ action: 'move', path: 'kit', destination: 'other' }, 'ask'],
      [{ action: 'delete', path: 'kit', recursive: true }, 'ask'],
      [{ action: 'copy', path: 'kit', destination: 'other', recursive: true }, 'ask'],
      [{ action: 'move', path: 'vendor', destination: 'other' }, 'deny'],
      [{ action: 'delete', path: 'vendor/lib', recursive: true }, 'deny'],
      [{ action: 'move', path: 'plain/deep', destination: 'plain/.Cursor' }, 'ask'],
      [{ action: 'move', path: 'plain/deep', destination: '.git' }, 'deny'],
      [{ action: 'move', path: 'dot', destination: '.config' }, 'ask'],
      [{ action: 'copy', path: 'plain', destination: 'other', recursive: true }, 'run'],
      [{ action: 'move', path: 'plain', destination: 'moved' }, 'run'],
      [{ action: 'delete', path: 'node_modules', recursive: true }, 'run'],
    ]
    for (const mode of ['auto', 'full-auto'] as const) {
      const config = { automation: { full_auto: { enabled: true, allowed_tools: ['unified_file'] } } }
      for (const [input, expected] of moves) {
        const open = () => bootKernel({ mode, files, config })
        // A move that runs changes the input of the next one.
        const booted = expected === 'run' ? hold(await open()) : await shared(`moves ${mode}`, open)
        expect([mode, input, word(await booted.call('unified_file', input))]).toEqual([mode, input, expected])
        if (expected !== 'run')
          for (const [path, text] of Object.entries(files)) expect(await booted.read(path)).toBe(text)
      }
    }
  })

  it('names each protected path of a long patch in the question, with reasons of other policies', async () => {
    await using booted = await bootKernel({
      mode: 'auto',
      config: { policy: { ask: [{ rule: 'Edit(src/**)', reason: 'it is generated' }] } },
    })
    const added = (name: string) => `*** Add File: ${name}\n+x\n`
    const many = (from: number) => Array.from({ length: 60 }, (_, index) => added(`src/f${from + index}`)).join('')
    const input = `*** Begin Patch\n${added('.vscode/settings.json')}${many(0)}${added('.envrc')}${added('sub/.husky/pre-commit')}${many(100)}*** End Patch`
    const asked: Approval[] = []
    await booted.kernel.call('apply_patch', { input }, { approve: (request) => (asked.push(request), false) })
    expect(asked).toHaveLength(1)
    for (const name of ['.vscode/settings.json', '.envrc', 'sub/.husky/pre-commit'])
      expect(asked[0]!.question).toContain(`\n  '${name}' `)
    expect(asked[0]!.question).toContain('your policy says: it is generated')
  })
  it('applies at the command line too', async () => {
    await using workspace = await tempWorkspace({ 'kit/.idea/a.xml': '' })
    for (const mode of ['auto', 'full-auto'] as const) {
      for (const words of [
        ['write', '--path', '.Cursor/mcp.json', '--content', '{}'],
        ['move', '--path', 'kit', '--destination', 'x'],
        ['write', '--path', '.envrc', '--content', 'x'],
      ]) {
        const { stdout, code: exit } = await vtcode(workspace, ['call', '--mode', mode, 'unified_file', ...words])
        expect([mode, words, exit, (JSON.parse(stdout) as { error: { code: string } }).error.code]).toEqual([
          mode,
          words,
          1,
          'VT_POLICY_NEEDS_APPROVAL',
        ])
      }
    }
  })

  it('protects VTCODE_HOME inside the workspace from tools and hides it from sandboxed commands', async () => {
    await using workspace = await tempWorkspace({ 'state/login.json': 'k', 'a.txt': '' })
    const call = async (...words: string[]) =>
      (
        await vtcode(workspace, ['call', '--mode', 'full-auto', ...words], {
          env: { VTCODE_HOME: join(workspace.root, 'state') },
        })
      ).stdout
    const written = [
      ['write', '--path', 'state/cache/compiled/x', '--content', 'x'],
      ['move', '--path', 'state', '--destination', 'b'],
      ['delete', '--path', 'state/login.json'],
    ]
    for (const words of written) expect(await call('unified_file', ...words)).toContain('VT_POLICY_DENIED')
    // The words of the command do not show what it writes.
    const output = await call(
      'unified_exec',
      'run',
      '--command',
      'p=sta; echo x > ${p}te/y; cat ${p}te/login.json; mv ${p}te b',
    )
    expect(output).not.toMatch(/"stdout":"k/)
    expect([
      await workspace.read('state/login.json'),
      existsSync(join(workspace.root, 'state/y')),
      existsSync(join(workspace.root, 'b')),
    ]).toEqual(['k', false, false])
  })

  it('allows reading protected paths', async () => {
    await using booted = await boot('auto', { '.git/config': '' })
    expect(word(await booted.call('look', { path: '.git/config' }))).toBe('run')
  })

  it('reports that nothing was changed and who can change a protected path', async () => {
    const booted = await kernelOf('auto')
    matches(await booted.call('put', { path: '.git/config' }), {
      ok: false,
      error: {
        code: 'VT_POLICY_DENIED',
        message: "Cannot change '.git/config': it belongs to git or to vtcode.",
        hint: 're:Nothing was done.*',
        details: { not_applied: true, say: 're:Not applied\\..*' },
      },
    })
  })
})

describe('commands on protected paths', () => {
  const policy = { allow: ['unified_exec/run'] }
  const files = {
    '.git/config': '',
    '.vtcode/tool-policy.json': '{ "version": 1, "policies": {} }',
    'a.txt': 'a\n',
    'src/b': '',
  }
  const open = (mode: Mode): Promise<Booted> =>
    bootKernel({ mode, files, config: { sandbox: { mode: 'off' }, policy } })

  it.each([
    'echo {} > .vtcode/tool-policy.json',
    'echo x >> .git/config',
    'echo x >| ./.git/config',
    'echo x &> .git/hooks/post-commit',
    'echo x | tee .git/config',
    'echo x | tee -a src/b .git/config',
    'cp a.txt .git/config',
    'cp a.txt .git/',
    'cp -t .git a.txt',
    'cp --target-directory=.git/hooks a.txt',
    'mv a.txt .git/config',
    'mv .git/config a.txt',
    'install -m 755 a.txt .git/hooks/pre-commit',
    'ln -s /bin/true .git/hooks/pre-commit',
    'dd if=a.txt of=.git/config',
    'sed -i s/a/b/ .git/config',
    'sed -i.bak -e s/a/b/ .git/config',
    'perl -pi -e s/a/b/ .git/config',
    'touch .git/config',
    'truncate -s 0 .git/config',
    'rm -rf .git',
    'rm .vtcode/tool-policy.json',
    'chmod +x .git/hooks/x',
    'rsync -a src/ .git/',
    'curl -s -o .git/config http://localhost',
    'curl --output=.git/config http://localhost',
    'wget -O .git/config http://localhost',
    'git config --file .git/config core.pager x',
    'git config -f .git/config core.pager x',
    'cd .git && echo x > config',
    'cd .git; touch config',
    "sh -c 'echo x > .git/config'",
    'env tee .git/config',
    'sudo tee .git/config',
    'find . -name a.txt -exec cp {} .git/config \\;',
    'echo .git/config | xargs touch .git/config',
    "eval 'echo x > .git/config'",
    'echo x > src/../.git/config',
    'echo x > "$(true)" > .git/config',
    'echo x > .GIT/config',
    'mkdir -p .vtcode/plugins/x',
    'tar -xf a.tar -C .git',
    'sort -o .git/config a.txt',
    'bash <<E\necho x > .git/config\nE',
  ])('denies a command whose words write a protected file although the slot is allowed: %s', async (command) => {
    const made = await shared('commands', () => open('auto'))
    const before = await made.read('.git/config')
    expect(word(await made.call('unified_exec', { action: 'run', command }, { approve: () => true }))).toBe('deny')
    expect([await made.read('.git/config'), await made.read('.vtcode/tool-policy.json')]).toEqual([
      before,
      files['.vtcode/tool-policy.json'],
    ])
  })

  it('asks about a command that writes auto-executed config, in full-auto too', async () => {
    await using auto = await open('auto')
    await using full = await bootKernel({
      mode: 'full-auto',
      config: {
        sandbox: { mode: 'off' },
        policy,
        automation: { full_auto: { enabled: true, allowed_tools: ['unified_exec/run'] } },
      },
      files,
    })
    for (const command of [
      'echo x > .mcp.json',
      'cp a.txt .husky/pre-commit',
      'touch vtcode.config.yaml',
      'cp src/.mcp.json .',
      'echo x >> ~/.bashrc',
    ]) {
      expect([
        command,
        word(await auto.call('unified_exec', { action: 'run', command })),
        word(await full.call('unified_exec', { action: 'run', command })),
      ]).toEqual([command, 'ask', 'ask'])
    }
  })

  it.each([
    'touch ~+/.git/config',
    'echo x > $PWD/.git/config',
    'echo x > "$(pwd)/.git/config"',
    'git -C .git config -f config a.b c',
    'env -C .git tee config',
    'env --chdir=.git touch config',
    'pushd .git; echo x > config',
    'cd -P .git; touch config',
    'cd src/../.git && touch config',
    'find a.txt -fprint .git/config',
    'find .git -name config -delete',
    'find .git -name config -exec touch {} +',
    'tar cf .git/config a.txt',
    'split a.txt .git/config',
    'time -o .git/config ls',
    `python3 -c 'open(".git/config","w")'`,
    `awk 'BEGIN{print > ".git/config"}'`,
    "sed -n 'w .git/config' a.txt",
    "ex -sc 'w! .git/config|q' a.txt",
    'mktemp .git/XXXX',
    'set -- .git/config; echo x > $1',
    'printf -v F .git/config; echo x > $F',
    'npm install --prefix .git',
    'setfacl -m u:x:r .git/config',
  ])('denies a command that may write a protected file by a folder or an unknown program: %s', async (command) => {
    const made = await shared('commands', () => open('auto'))
    const before = await made.read('.git/config')
    expect(word(await made.call('unified_exec', { action: 'run', command }, { approve: () => true }))).toBe('deny')
    expect(await made.read('.git/config')).toBe(before)
  })

  it('asks without a sandbox about a command with unknown targets, and denies it in full-auto', async () => {
    await using auto = await open('auto')
    await using full = await bootKernel({
      mode: 'full-auto',
      config: {
        sandbox: { mode: 'off' },
        policy,
        automation: { full_auto: { enabled: true, allowed_tools: ['unified_exec/run'] } },
      },
      files,
    })
    const lines = [
      'HOME=.git; echo x > $HOME/config',
      'HOME=.git; echo x > ~/config',
      'F=.git/config; echo x > $F',
      'F=.git/config; cp a.txt "$F"',
      'for f in .git/config; do echo x > "$f"; done',
      'dd of=.g?t/config',
      'echo x > {.git/config,}',
      'touch .g{i,}t/config',
      'tee {a,.git/config}',
      'cp {src,.git}/config',
      'F=b.txt; echo x > $F',
      'for f in a b; do echo x > $f.txt; done',
      'cd "$X" && echo x > config',
      'D=$(echo .git); echo x > $D/config',
      'echo x > `echo .git/config`',
      'read f < a.txt; echo x > $f',
      'A=(.git/config); echo x > ${A[0]}',
      "bash -c 'touch $0' .git/config",
      'xargs touch < a.txt',
      "git config core.fsmonitor 'touch m'",
      "git config set alias.x '!touch m'",
      'git config --edit',
    ]
    for (const command of lines) {
      expect([
        command,
        word(await auto.call('unified_exec', { action: 'run', command })),
        word(await full.call('unified_exec', { action: 'run', command })),
      ]).toEqual([command, 'ask', 'deny'])
    }
    for (const command of [
      'echo x > .g?t/config',
      'tee .gi*/config < a.txt',
      'cp a.txt .[g]it/config',
      'sed -i s/a/b/ .g?t/config',
      'mv .gi? x',
      'rm -rf .g*',
    ])
      for (const made of [auto, full])
        expect([command, word(await made.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'deny'])
    for (const command of [
      'git config user.name x',
      'echo x > out-$(date +%s).txt',
      'echo x > "/tmp/$$.vtcode-test"',
      'touch *.txt',
      'rm -f src/*.js',
      'cp {a,b}.txt src',
      'python3 -c "print(1)"',
      'here="$(cd "$(dirname "$0")" && pwd)"; mv b.txt c.txt',
      'cd "$X"; make > out.log',
    ])
      expect([command, word(await auto.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'run'])
  })

  it('asks without a sandbox about operands that are or hold auto-executed config, in full-auto too', async () => {
    const kit = {
      ...files,
      'kit/.envrc': '',
      'kit/a/.vscode/tasks.json': '{}',
      'plain/a': '',
      'out/.git/config': '',
      '.husky/pre-commit': '',
    }
    const automation = { full_auto: { enabled: true, allowed_tools: ['unified_exec/run'] } }
    const start = (mode: Mode, mine: Config['policy'] = policy) =>
      bootKernel({ mode, config: { sandbox: { mode: 'off' }, policy: mine!, automation }, files: kit })
    await using auto = await start('auto')
    await using full = await start('full-auto')
    await using ruled = await start('auto', {
      allow: ['cp', 'mv', 'rm', 'rsync', 'chmod', 'node', 'git'].map((name) => `Bash(${name} *)`),
    })
    for (const command of [
      'cp -r kit/. .',
      'cp -a kit/a .',
      'cp -r kit plain',
      'cp -rT plain .',
      'cp -r plain/. .',
      'cp --recursive --target-directory=plain kit',
      'cp -r -t plain kit/a',
      'mv kit plain',
      'mv plain/a kit',
      'rsync -a plain/ .',
      'rsync -a kit plain',
      'rm -rf kit',
      'rm -r out',
      'rm -rf .',
      'chmod -R +x .',
      'node build.js .vscode/settings.json',
      'node build.js --out=.envrc',
      'git mv a.txt .envrc',
      'git checkout HEAD -- .husky/pre-commit',
    ]) {
      expect([
        command,
        word(await auto.call('unified_exec', { action: 'run', command })),
        word(await full.call('unified_exec', { action: 'run', command })),
        word(await ruled.call('unified_exec', { action: 'run', command })),
      ]).toEqual([command, 'ask', 'ask', 'ask'])
    }
    for (const [path, text] of Object.entries(kit)) expect(await auto.read(path)).toBe(text)
    matches(await auto.call('unified_exec', { action: 'run', command: 'cp -r kit/. .' }), {
      ok: false,
      error: {
        message:
          "re:.*may change auto-executed config without a sandbox: 'kit/.envrc' is among its operands or below one\\..*",
      },
    })
    for (const command of [
      'cp -r plain other',
      'cp -r plain .',
      'cp -r plain/. other',
      'cp a.txt .',
      'mv a.txt b.txt',
      'mv b.txt ./c.txt',
      'rm -rf other',
      'rsync --version || true',
      'node -e 1 kit/a',
      'git add .husky || true',
      'git diff .husky/pre-commit || true',
      'source kit/.envrc',
    ])
      expect([command, word(await auto.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'run'])
  })

  it.skipIf(lacks('bwrap'))('asks nothing about such operands where the sandbox protects the files', async () => {
    await using made = await bootKernel({ mode: 'auto', config: { policy }, files: { ...files, 'kit/.envrc': 'x' } })
    expect(word(await made.call('unified_exec', { action: 'run', command: 'cp -r kit/. .' }))).toBe('run')
    expect([await made.read('.envrc'), await made.read('kit/.envrc')]).toEqual([undefined, 'x'])
  })

  it('applies user rules to the files that a command writes by its words', async () => {
    await using made = await bootKernel({
      mode: 'auto',
      files: { ...files, 'secrets/key': 'k' },
      config: { sandbox: { mode: 'off' }, policy: { ...policy, deny: ['Edit(/secrets/**)'] } },
    })
    for (const command of [
      'cp a.txt secrets/key',
      'echo x | tee secrets/new',
      'rm secrets/key',
      'sed -i s/a/b/ secrets/key',
    ])
      expect([command, word(await made.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'deny'])
    for (const command of ['F=secrets/key; echo x > $F', 'touch "$F"'])
      expect([command, word(await made.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'ask'])
    expect(await made.read('secrets/key')).toBe('k')
  })

  it('runs a command that reads protected paths or writes next to them', async () => {
    await using made = await open('auto')
    for (const command of [
      'cat .git/config',
      'cp .git/config a.txt',
      'grep -r x .git',
      'echo .git/config > a.txt',
      'touch .gitignore',
      'git config --list',
      'sed -n 1p .git/config',
      'mkdir -p .github/workflows',
      'tar -cf x.tar .git',
      'dd if=.git/config of=b.txt',
      'echo x > .vtcode/plans/next.md || true',
      'find .git -name x',
      'ls > out.txt 2>&1',
    ])
      expect([command, word(await made.call('unified_exec', { action: 'run', command }))]).toEqual([command, 'run'])
  })
})
