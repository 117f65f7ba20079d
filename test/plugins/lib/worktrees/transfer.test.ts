import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import {
  applyToRun,
  createBundle,
  createPatch,
  createWorktree,
  findTreeChanges,
  patchWorktree,
  unpackBundle,
  type RunFolder,
} from '../../../../build/plugins/lib/worktrees/index.js'

const folders: string[] = []
afterEach(() => folders.splice(0).forEach((folder) => rmSync(folder, { recursive: true, force: true })))
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'vtcode-transfer-'))
  folders.push(folder)
  return folder
}
/** Makes a repository with files, a copy of it, and the folder of a run on another machine. */
async function scene(files: Record<string, string | Buffer> = { 'a.txt': 'one\r\ntwo\n' }) {
  const [root, home, other] = [newFolder(), newFolder(), newFolder()]
  execFileSync('git', ['init', '-q'], { cwd: root })
  for (const [name, content] of Object.entries(files)) writeFileSync(join(root, name), content)
  const workspace = openWorkspace(root, { home, user: home })
  const tree = await createWorktree(workspace, { id: 'ses_one', session: 'ses_one' })
  const bundle = await createBundle(workspace, tree)
  const run = await unpackBundle(join(other, 'files'), bundle, tree.commit)
  return { workspace, tree, bundle, run, other, [Symbol.dispose]: () => workspace.close() }
}
const write = ({ root }: RunFolder, name: string, content: string | Buffer): void =>
  writeFileSync(join(root, name), content)

describe('unpackBundle', () => {
  it('makes the same files, byte for byte, whatever the attributes say', async () => {
    const bytes = Buffer.from([0, 255, 13, 10, 10])
    using here = await scene({
      '.gitattributes': '* text eol=crlf\n*.bin filter=x\n',
      'a.txt': 'a\nb\r\n',
      'b.bin': bytes,
    })
    expect(readFileSync(join(here.run.root, 'a.txt'), 'utf8')).toBe('a\nb\r\n')
    expect(readFileSync(join(here.run.root, 'b.bin')).equals(bytes)).toBe(true)
    expect(execFileSync('git', ['status', '--porcelain'], { cwd: here.run.root, encoding: 'utf8' })).toBe('')
  })
  it('refuses a bundle without the commit, and bytes that are no bundle', async () => {
    using here = await scene()
    await expect(unpackBundle(join(here.other, 'b'), here.bundle, 'a'.repeat(40))).rejects.toMatchObject({
      code: 'VT_AGENT_NO_WORKTREE',
    })
    await expect(unpackBundle(join(here.other, 'c'), Buffer.from('text'), here.tree.commit)).rejects.toMatchObject({
      code: 'VT_AGENT_NO_WORKTREE',
    })
  })
})

describe('createPatch', () => {
  it('carries changed, new, binary, executable and deleted files and links back to the copy', async () => {
    using here = await scene({ 'a.txt': 'one\n', 'old.txt': 'old\n' })
    const { workspace, tree, run } = here
    write(run, 'a.txt', 'two\r\n')
    write(run, 'b.bin', Buffer.from([0, 1, 2, 255]))
    write(run, 'run.sh', '#!/bin/sh\n')
    chmodSync(join(run.root, 'run.sh'), 0o755)
    symlinkSync('a.txt', join(run.root, 'link'))
    rmSync(join(run.root, 'old.txt'))
    mkdirSync(join(run.root, '.vtcode'))
    write(run, '.vtcode/own.txt', 'left out')
    await patchWorktree(workspace, tree, (await createPatch(run))!)
    const changes = await findTreeChanges(workspace, tree)
    expect(changes.map(({ path }) => path)).toEqual(['a.txt', 'b.bin', 'link', 'old.txt', 'run.sh'])
    expect(readFileSync(join(tree.root, 'a.txt'), 'utf8')).toBe('two\r\n')
    expect(readFileSync(join(tree.root, 'b.bin')).equals(Buffer.from([0, 1, 2, 255]))).toBe(true)
    expect(lstatSync(join(tree.root, 'run.sh')).mode & 0o111).toBe(0o111)
  })
  it('returns nothing for a run without changes, and restores a run from its patch', async () => {
    using here = await scene()
    expect(await createPatch(here.run)).toBeUndefined()
    write(here.run, 'a.txt', 'changed')
    const patch = (await createPatch(here.run))!
    const again = await unpackBundle(join(here.other, 'again'), here.bundle, here.tree.commit)
    await applyToRun(again, patch)
    expect(readFileSync(join(again.root, 'a.txt'), 'utf8')).toBe('changed')
  })
  it('runs no program that the run put into the settings or hooks of its repository', async () => {
    using here = await scene()
    const { run, other } = here
    const seen = join(other, 'ran')
    for (const [key, value] of [
      ['filter.x.clean', `touch ${seen}`],
      ['core.fsmonitor', `touch ${seen}`],
      ['diff.external', `touch ${seen}`],
      ['core.hooksPath', run.root],
    ])
      execFileSync('git', ['config', key!, value!], { cwd: run.root })
    write(run, '.gitattributes', '* filter=x diff=x\n')
    write(run, 'post-index-change', `#!/bin/sh\ntouch ${seen}\n`)
    chmodSync(join(run.root, 'post-index-change'), 0o755)
    expect(await createPatch(run)).toBeDefined()
    expect(existsSync(seen)).toBe(false)
  })
})

describe('patchWorktree', () => {
  const patchOf = (name: string, content = 'x') =>
    Buffer.from(
      `diff --git a/${name} b/${name}\nnew file mode 100644\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1 @@\n+${content}\n`,
    )
  it.each(['../outside.txt', '.git/hooks/pre-commit', '/tmp/absolute.txt'])('refuses a patch of %s', async (name) => {
    using here = await scene()
    await expect(patchWorktree(here.workspace, here.tree, patchOf(name))).rejects.toMatchObject({
      code: 'VT_AGENT_NO_WORKTREE',
    })
    expect(await findTreeChanges(here.workspace, here.tree)).toEqual([])
  })
  it('refuses a patch that writes through a link of its own', async () => {
    using here = await scene()
    const link = `diff --git a/l b/l\nnew file mode 120000\n--- /dev/null\n+++ b/l\n@@ -0,0 +1 @@\n+${here.other}\n\\ No newline at end of file\n`
    const patch = Buffer.concat([Buffer.from(link), patchOf('l/out.txt')])
    await expect(patchWorktree(here.workspace, here.tree, patch)).rejects.toMatchObject({
      code: 'VT_AGENT_NO_WORKTREE',
    })
    expect(existsSync(join(here.other, 'out.txt'))).toBe(false)
  })
})
