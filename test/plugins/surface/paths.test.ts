import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { askAll, faces, rowsOf } from '../../support/faces.js'
import { hostileTree, pathCases, type HostileTree } from '../../support/paths.js'

// Each surface plays the whole table, so that none avoids the walk.
describe('hostile paths', () => {
  let tree: HostileTree
  let home: TempWorkspace
  beforeAll(async () => {
    tree = hostileTree()
    home = await tempWorkspace()
  })
  afterAll(async () => {
    tree.remove()
    await home[Symbol.asyncDispose]()
  })

  it.each(Object.keys(faces))('refuses hostile paths through %s', async (name) => {
    await using face = await faces[name]!({ home, root: tree.root })
    const wrong = await askAll(rowsOf(name, pathCases(tree), 4), async (row) => {
      const answer = await face.call('unified_file', { action: 'read', path: row.path })
      const holds = row.code === undefined ? answer.output?.['content'] === 'inside\n' : answer.error?.code === row.code
      return holds ? [] : [{ ...row, answer }]
    })
    expect(wrong.flat()).toEqual([])
  })
})
