import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { JsonObject, Mode, Result } from 'vtcode'

let plugins: TempWorkspace
beforeAll(async () => {
  const slot = (name: string, effect: string): string =>
    `name: ${name}\neffects: [${effect}]\ndescription: Does nothing.\nmodule: ./done.js\ninput: { properties: { path: { type: string, format: workspace-path }, destination: { type: string, format: workspace-path }, patch: { type: string } } }\n`
  plugins = await tempWorkspace({ 'done.js': 'export default () => ({ ok: true, output: {} })\n', 'put.yaml': slot('put', 'write'), 'look.yaml': slot('look', 'read') })
})
afterAll(() => plugins[Symbol.asyncDispose]())

const boot = (mode: Mode, files: Record<string, string> = {}): Promise<Booted> => bootKernel({ mode, files, manifests: [plugins.root] })
const word = (result: Result): string =>
  result.ok ? 'run' : { VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code
const put = async (booted: Booted, input: JsonObject): Promise<string> => word(await booted.call('put', input))

describe('protected paths', () => {
  const sealed = ['.git/config', '.git/hooks/pre-commit', 'sub/module/.git/hooks/x', '.GIT/config', '.Git', '.git', '.vtcode/tool-policy.json', '.vtcode', '.VTCODE/config.yaml', '.vtcode/plans', 'a/../.git/x']
  it.each(sealed)('%s is denied in every mode, whether it exists or not, and no approver changes that', async (path) => {
    for (const mode of ['plan', 'ask', 'auto', 'full-auto'] as const) {
      await using booted = await boot(mode)
      expect([mode, word(await booted.call('put', { path }, { approve: () => true }))]).toEqual([mode, 'deny'])
    }
  })

  const guarded = ['vtcode.config.ts', 'vtcode.config.yaml', '.mcp.json', '.agents/skills/x/SKILL.md', '.claude/settings.json', '.husky/pre-commit', '.bashrc', 'home/.zshrc', '.Profile', 'sub/.mcp.json']
  it.each(guarded)('%s is asked for, in full-auto denied', async (path) => {
    await using auto = await boot('auto')
    await using full = await boot('full-auto')
    expect(await put(auto, { path })).toBe('ask')
    expect(word(await auto.call('put', { path }, { approve: () => true }))).toBe('run')
    expect(await put(full, { path })).toBe('deny')
  })

  it.each(['.gitignore', '.github/workflows/ci.yml', 'git/config', '.vtcode/plans/next.md', 'src/.vtcodex', 'docs/.git.md', 'vtcode.configs', '.env'])('%s is an ordinary path', async (path) => {
    await using booted = await boot('auto')
    expect(await put(booted, { path })).toBe('run')
  })

  it('are found behind links, at either end of a move, and in the text of a patch', async () => {
    await using booted = await boot('auto', { '.git/config': '', '.git/hooks/pre-push': '', 'src/a': '' })
    await symlink('.git', join(booted.root, 'innocent'))
    await symlink('../.git/config', join(booted.root, 'src/link'))
    expect(await put(booted, { path: 'innocent/hooks/pre-commit' })).toBe('deny')
    expect(await put(booted, { path: 'src/link' })).toBe('deny')
    // What the link leads to need not be there yet.
    await symlink('../.git/hooks/post-commit', join(booted.root, 'src/later'))
    expect(await put(booted, { path: 'src/later' })).toBe('deny')
    expect(await put(booted, { path: 'src/a', destination: '.git/hooks/post-merge' })).toBe('deny')
    expect(await put(booted, { patch: '*** Begin Patch\n*** Add File: .git/hooks/x\n+x\n*** End Patch' })).toBe('deny')
    expect(await put(booted, { patch: '*** Begin Patch\n*** Update File: src/a\n*** Move to: .mcp.json\n*** End Patch' })).toBe('ask')
    expect(await put(booted, { patch: 'diff --git a/x b/x\n--- a/x\n+++ b/.git/config\n@@ -1 +1 @@\n' })).toBe('deny')
    expect(await put(booted, { patch: 'rename from x\nrename to .vtcode/config.yaml\n' })).toBe('deny')
  })

  it('cover the folder that a `.git` file points to', async () => {
    await using booted = await boot('auto', { '.git': 'gitdir: store/repo\n' })
    await mkdir(join(booted.root, 'store/repo'), { recursive: true })
    expect(await put(booted, { path: 'store/repo/config' })).toBe('deny')
    expect(await put(booted, { path: 'store/other' })).toBe('run')
  })

  it('may be read', async () => {
    await using booted = await boot('auto', { '.git/config': '' })
    expect(word(await booted.call('look', { path: '.git/config' }))).toBe('run')
  })

  it('say that nothing was changed and who can change it', async () => {
    await using booted = await boot('auto')
    matches(await booted.call('put', { path: '.git/config' }), {
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: "re:'.git/config'.*", hint: 're:Nothing was done.*', details: { not_applied: true, say: 're:Not applied\\..*' } },
    })
  })
})
