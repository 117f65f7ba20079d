import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { openWorkspace } from '../../../../build/core/workspace/index.js'
import { findLatestChange, undo } from '../../../../build/plugins/lib/files/index.js'
import { findChanges, FileSnapshots } from '../../../../build/plugins/lib/snapshots/index.js'

it('reports what a command does to copied files and restores them from the copy', async () => {
  await using made = await tempWorkspace({ 'a.txt': 'a\n', 'b.txt': 'b\n', 'same.txt': 'same\n' })
  const workspace = openWorkspace(made.root, { home: made.home })
  try {
    const snapshots = new FileSnapshots(workspace, 's1')
    const watch = await snapshots.copyFiles(['a.txt', 'b.txt', 'same.txt', '.git/config', '../out'])
    expect(watch.watched).toBe(3)
    writeFileSync(join(made.root, 'a.txt'), 'other\n')
    rmSync(join(made.root, 'b.txt'))
    writeFileSync(join(made.root, 'new.txt'), 'new\n')
    expect(await watch.compare('c1', ['new.txt'])).toEqual([
      { path: 'a.txt', kind: 'update' },
      { path: 'b.txt', kind: 'delete' },
      { path: 'new.txt', kind: 'add' },
    ])
    await undo(workspace, (await findLatestChange(workspace, 's1'))!)
    expect([await made.read('a.txt'), await made.read('b.txt')]).toEqual(['a\n', 'b\n'])
    expect(await workspace.stat('new.txt')).toBeUndefined()
    // A second snapshot, of a program that was killed before it compared.
    await snapshots.copyFiles(['a.txt'])
    writeFileSync(join(made.root, 'a.txt'), 'killed\n')
    expect(await new FileSnapshots(workspace, 's1').recoverChanges('c2')).toEqual([{ path: 'a.txt', kind: 'update' }])
    await undo(workspace, (await findLatestChange(workspace, 's1'))!)
    expect(await made.read('a.txt')).toBe('a\n')
    const own = { ok: true as const, output: { checkpoint: { changed: [{ path: 'x', kind: 'add' }] } } }
    expect(await findChanges(watch, 'c3', own)).toEqual([{ path: 'x', kind: 'add' }])
  } finally {
    workspace.close()
  }
})
