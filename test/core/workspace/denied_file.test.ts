import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'

// One secret, and every way of a built-in tool to a file: none reveals a file that a rule denies.
const secret = 'hunter2_the_secret'
const body = `export const password = '${secret}'\n`
let booted: Booted
beforeAll(async () => {
  booted = await bootKernel({
    mode: 'auto',
    config: {
      policy: { deny: ['Read(.env.ts)', 'Read(/private/**)', { rule: 'Read(*.pem)' }], allow: ['Bash'] },
      sandbox: { mode: 'off' },
    },
    files: {
      '.env.ts': body,
      'src/.env.ts': body,
      'private/deep/key.ts': body,
      'src/a.pem': secret,
      'src/open.ts': 'export const open = 1\n',
      'pack/a.pem': secret,
      'pack/b': '',
    },
  })
  await symlink('private', join(booted.root, 'innocent'))
  await symlink('src/a.pem', join(booted.root, 'plain.txt'))
})
afterAll(() => booted[Symbol.asyncDispose]())

describe('file denied by a rule', () => {
  const search = { include_hidden: true }
  it.each<[string, object]>([
    ['unified_search', { action: 'grep', pattern: 'hunter2', path: '.', ...search }],
    [
      'unified_search',
      { action: 'grep', pattern: 'hunter2', path: '.', globs: ['**/*.pem', '.env.ts', 'private/**'], ...search },
    ],
    ['unified_search', { action: 'grep', patterns: ['hunter2', 'secret'], path: '.', ...search }],
    ['unified_search', { action: 'grep', pattern: 'hunter2', path: 'innocent' }],
    ['unified_search', { action: 'grep', pattern: 'hunter2', path: 'plain.txt' }],
    ['unified_search', { action: 'list', mode: 'recursive', path: '.', include_hidden: true, include_ignored: true }],
    ['unified_search', { action: 'list', mode: 'list', path: 'src', include_hidden: true }],
    ['unified_search', { action: 'list', mode: 'tree', path: '.', ...search }],
    ['unified_search', { action: 'list', mode: 'recursive', path: '.', follow: true, ...search }],
    ['unified_search', { action: 'list', mode: 'recursive', path: 'innocent' }],
    ['unified_search', { action: 'list', mode: 'find_content', content_pattern: 'hunter2', path: '.', ...search }],
    ['unified_search', { action: 'list', mode: 'find_name', name_pattern: '*.pem', path: '.' }],
    ['unified_search', { action: 'list', mode: 'largest', path: '.', ...search }],
    ['unified_search', { action: 'outline', path: '.' }],
    ['unified_search', { action: 'outline', path: 'innocent', follow: true }],
    ['unified_search', { action: 'structural', pattern: 'export const password = $A', lang: 'ts', path: '.' }],
    [
      'unified_search',
      {
        action: 'structural',
        workflow: 'rewrite',
        pattern: 'export const password = $A',
        rewrite: 'x',
        lang: 'ts',
        path: '.',
      },
    ],
    ['unified_file', { action: 'read', path: '.env.ts' }],
    ['unified_file', { action: 'read', path: 'innocent/deep/key.ts' }],
    ['unified_file', { action: 'read', path: 'plain.txt', offset_lines: 1 }],
    ['unified_file', { action: 'read', path: 'src/a.pem', offset_bytes: 0 }],
    ['unified_file', { action: 'edit', path: '.env.ts', old_str: 'password', new_str: 'p' }],
    ['unified_file', { action: 'copy', path: '.env.ts', destination: 'copied.ts' }],
    ['unified_file', { action: 'copy', path: 'private', destination: 'copied', recursive: true }],
    ['unified_file', { action: 'copy', path: 'pack', destination: 'copied', recursive: true }],
    ['unified_file', { action: 'move', path: 'src/a.pem', destination: 'moved.txt' }],
    ['unified_file', { action: 'move', path: 'pack', destination: 'moved' }],
    ['apply_patch', { input: '*** Begin Patch\n*** Update File: .env.ts\n@@\n-export const x\n+y\n*** End Patch' }],
    ['unified_exec', { action: 'run', command: 'cat .env.ts' }],
    ['unified_exec', { action: 'run', command: 'cat < src/a.pem' }],
  ])('hides a denied file from %s %j', async (tool, input) => {
    const result = await booted.call(tool, input)
    const said = JSON.stringify({
      ...result,
      ...(!result.ok && {
        error: {
          ...result.error,
          message: '',
          next: undefined,
          details: { ...result.error.details, issues: undefined },
        },
      }),
    })
    expect(said).not.toContain('hunter2_')
    expect(said.replaceAll(JSON.stringify(input).slice(1, -1), '')).not.toMatch(/a\.pem"|deep\/key|key\.ts"/)
    for (const copy of ['copied.ts', 'copied/deep/key.ts', 'copied/a.pem', 'moved.txt', 'moved/a.pem'])
      expect(await booted.read(copy)).toBeUndefined()
  })

  it('finds the files next to a denied one', async () => {
    expect(await booted.call('unified_search', { action: 'grep', pattern: 'open', path: '.' })).toMatchObject({
      ok: true,
      output: { matches: [{ file: 'src/open.ts' }] },
    })
    expect(await booted.call('unified_file', { action: 'read', path: 'src/open.ts' })).toMatchObject({ ok: true })
  })

  it('denies a copy with the rule as the reason when it includes a denied file', async () => {
    const result = await booted.call(
      'unified_file',
      { action: 'copy', path: 'pack', destination: 'copied', recursive: true },
      { session: 'other' },
    )
    expect(result).toMatchObject({
      ok: false,
      error: { code: 'VT_POLICY_DENIED', message: expect.stringContaining('pack/a.pem') },
    })
  })

  it('denies a file that the rule names by its absolute path', async () => {
    await using folder = await tempWorkspace({ 'a/secret.txt': 'hunter2_x', 'b.txt': 'hunter2_y' })
    const kernel = await createKernel({
      workspace: folder.root,
      home: folder.home,
      config: { policy: { deny: [`Read(/${folder.root}/a/**)`] } },
    })
    const result = await kernel.call('unified_search', { action: 'grep', pattern: 'hunter2', path: '.' })
    await kernel.close()
    expect(result).toMatchObject({ ok: true, output: { total_matches: 1 } })
  })
})
