import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { createKernel } from 'vtcode'
import { tempWorkspace, type Files } from 'vtcode/test'
import { buildIntendedDiff, describeIntent, formatAction } from '../../../../build/plugins/lib/intents/index.js'

/** Describes calls in a workspace with these files. */
async function describing(files: Files) {
  const workspace = await tempWorkspace(files)
  const kernel = await createKernel({ workspace: workspace.root, home: workspace.home })
  return {
    workspace,
    of: (slot: string, input: object) => describeIntent(kernel, { slot, input } as never),
    [Symbol.asyncDispose]: async () => {
      await kernel.close()
      await workspace[Symbol.asyncDispose]()
    },
  }
}

describe('describeIntent', () => {
  it('shows the unified diff of an edit against the file on the disk, and the places of replace_all', async () => {
    const lines = Array.from({ length: 20 }, (_, at) => (at === 9 || at === 18 ? 'old' : `line ${at + 1}`)).join('\n')
    await using at = await describing({ 'a.txt': `${lines}\n` })
    const intent = await at.of('unified_file/edit', {
      path: 'a.txt',
      old_str: 'old',
      new_str: 'new',
      replace_all: true,
    })
    expect(intent).toMatchObject({ title: 'Edit a.txt? (+2 −2)', notes: ['replaces 2 places'] })
    expect(intent.diff).toBe(
      '--- a/a.txt\n+++ b/a.txt\n@@ -7,7 +7,7 @@\n line 7\n line 8\n line 9\n-old\n+new\n line 11\n line 12\n' +
        ' line 13\n@@ -16,5 +16,5 @@\n line 16\n line 17\n line 18\n-old\n+new\n line 20\n',
    )
  })

  it('shows the lines that an overwrite removes', async () => {
    await using at = await describing({ 'a.txt': 'one\ntwo\n' })
    const intent = await at.of('unified_file/write', { path: 'a.txt', content: 'three\n', mode: 'overwrite' })
    expect(intent.title).toBe('Write a.txt? (+1 −2)')
    expect(intent.diff).toContain('-one\n-two\n+three\n')
  })

  it('shows the result of all sections of a patch, and the patch where it does not fit', async () => {
    await using at = await describing({ 'a.txt': 'one\ntwo\n', 'b.txt': 'b\n' })
    const patch = (text: string) => at.of('apply_patch', { input: `*** Begin Patch\n${text}\n*** End Patch` })
    const intent = await patch('*** Update File: a.txt\n@@\n-two\n+2\n*** Delete File: b.txt\n*** Add File: c.txt\n+c')
    expect(intent).toMatchObject({ title: 'Patch a.txt and 2 more? (+2 −2)', notes: ['3 files', 'deletes b.txt'] })
    const mode = await at.of('apply_patch', { input: 'diff --git a/a.txt b/a.txt\nold mode 100644\nnew mode 100755\n' })
    expect(mode.notes).toEqual(['makes a.txt executable'])
    expect(intent.diff).toContain('@@ -1,2 +1,2 @@\n one\n-two\n+2\n--- a/b.txt\n+++ /dev/null\n')
    const wrong = await patch('*** Update File: a.txt\n@@\n-missing\n+2')
    expect(wrong.diff).toContain('*** Update File: a.txt\n@@\n-missing\n+2\n')
  })

  it('lists everything that a delete removes with sizes, links as links, names escaped', async () => {
    await using at = await describing({ 'lib/in/a.txt': 'x'.repeat(3000), 'lib/b.txt': 'b', 'lib/e\u001b[2J': '' })
    symlinkSync('/etc/passwd', join(at.workspace.root, 'lib/link'))
    const intent = await at.of('unified_file/delete', { path: 'lib', recursive: true })
    expect(intent.title).toMatch(/^Delete lib\? \(5 entries, \d/)
    expect(intent.tree).toEqual(['b.txt  1 B', 'e\\u{1b}[2J  0 B', 'in/', '  a.txt  2.9 KiB', 'link  link'])
    const many = Object.fromEntries(Array.from({ length: 450 }, (_, n) => [`many/${n}`, '']))
    await using big = await describing(many)
    expect((await big.of('unified_file/delete', { path: 'many', recursive: true })).tree!.at(-1)).toBe('… and 50 more')
    expect(await at.of('unified_file/delete', { path: 'gone' })).toMatchObject({ notes: ['nothing is there'] })
  })

  it('shows a command with its folder, and an address', async () => {
    await using at = await describing({})
    expect(await at.of('unified_exec/run', { command: 'npm test' })).toMatchObject({
      title: 'Run `npm test`?',
      command: 'npm test',
      notes: ['folder: the workspace'],
    })
    expect(await at.of('unified_exec/run', { command: ['ls', '-l'], workdir: 'src' })).toMatchObject({
      command: 'ls -l',
      notes: ['folder: src'],
    })
    expect(await at.of('unified_search/web', { url: 'https://example.org/a' })).toMatchObject({
      title: 'Fetch https://example.org/a?',
      notes: ['address: https://example.org/a'],
    })
  })

  it('hides no field of a tool of others that the diff does not contain', async () => {
    await using at = await describing({})
    const { shown, diff } = await at.of('theirs', {
      old_str: 'a',
      new_str: 'b',
      content: 'x',
      path: '/etc/x',
      patch: 1,
    })
    expect([diff, ...[...shown].sort()]).toEqual(['-a\n+b', 'command', 'new_str', 'old_str'])
  })
})

describe('formatAction', () => {
  it.each([
    ['unified_file', { action: 'read', path: 'a.js' }, 'Read a.js'],
    ['unified_file/move', { path: 'a', destination: 'b' }, 'Move a to b'],
    ['unified_exec', { action: 'run', command: ['npm', 'test'] }, 'Run npm test'],
    ['unified_exec', { action: 'run', command: 'a\u001b[2J\nb' }, 'Run a\\u{1b}[2J\\u{a}b'],
    ['unified_search', { action: 'grep', pattern: 'x' }, 'Search for x'],
    ['apply_patch', { input: '*** Begin Patch\n*** Add File: a\n+x\n*** End Patch' }, 'Patch a'],
    ['unified_file', { action: 'nothing' }, undefined],
    ['constructor', {}, undefined],
    ['theirs', 'text', undefined],
  ])('names %s %j', (tool, input, words) => expect(formatAction(tool, input)).toBe(words))
})

describe('buildIntendedDiff', () => {
  it('reads edits and contents, and nothing else', () => {
    expect(buildIntendedDiff({ edits: [{ old_str: 'a', new_str: 'b' }, 'x', null] })).toBe('-a\n+b')
    expect(buildIntendedDiff({ content: 'a\nb\n' })).toBe('+a\n+b')
    expect(buildIntendedDiff(null)).toBeUndefined()
  })
})
