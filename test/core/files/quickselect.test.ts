import { mkdirSync, mkdtempSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { quickselect } from '../../../build/core/files/index.js'
import { openWorkspace } from '../../../build/core/workspace/index.js'
import { makeManyFiles } from '../../support/many_files.js'
import { fc } from '../../support/property.js'

describe('first items of a list', () => {
  it('puts the first items in front, the last of them at their end, for any order and duplicates', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 2 }), { minLength: 1, maxLength: 60 }), fc.nat(), (items, any) => {
        const count = 1 + (any % items.length)
        const sorted = [...items].sort()
        const brought = [...items]
        quickselect(brought, count, (a: string, b: string) => a < b)
        expect([...brought].sort()).toEqual(sorted)
        expect(brought.slice(0, count).sort()).toEqual(sorted.slice(0, count))
        expect(brought[count - 1]).toBe(sorted[count - 1])
      }),
    )
  })

  it('returns the first names and kinds of a folder that is too large to read whole', async () => {
    const root = mkdtempSync(join(inject('disk'), 'wide-'))
    // On a disk a folder takes the bytes of its names: with long ones 18,000 make it as large as a million short ones would.
    makeManyFiles(join(root, 'wide'), 18_000, (index) => `${(index * 7919) % 18_000}-${'x'.repeat(240)}`)
    mkdirSync(join(root, 'wide/00-folder'))
    writeFileSync(join(root, 'wide/\u{1F600}'), '')
    // In memory it would have no size, and be read whole.
    expect(statSync(join(root, 'wide')).size).toBeGreaterThan(4 * 1024 ** 2)
    const workspace = openWorkspace(root, { home: join(root, 'home') })
    await using wide = await workspace.openDirectory('wide')
    const all = wide.listNames()
    expect(all).toHaveLength(18_002)
    for (const most of [1, 100, 16_000]) expect(wide.listNames(most)).toEqual(all.slice(0, most))
    expect(wide.listNames(1)).toEqual([{ name: expect.stringMatching(/^0-/), kind: 'file' }])
    expect(wide.listNames(20_000)).toEqual(all)
  })
})
