import { mkdtempSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import {
  createTempName,
  dropTemps,
  openRoot,
  recordTemps,
  removeOwnRecord,
  type Directory,
} from '../../../build/core/files/index.js'
import type { Seal } from '../../../build/core/system/index.js'

let root: string
let folder: Directory
const seal = { nameMark: () => '0badc0de0bad' } as unknown as Seal
beforeEach(() => {
  root = mkdtempSync(join(realpathSync(tmpdir()), 'vtcode-temps-'))
  folder = openRoot(root)
})
afterEach(() => {
  folder.close()
  rmSync(root, { recursive: true, force: true })
})

describe('removeOwnRecord', () => {
  it('removes the record if dropTemps removed every file', () => {
    createTempName(folder)
    recordTemps(folder, seal, '.')
    expect(readdirSync(root)).toHaveLength(1)
    dropTemps(folder)
    removeOwnRecord(folder, seal)
    expect(readdirSync(root)).toEqual([])
  })

  it('keeps the record for the next process if dropTemps failed to remove a file', () => {
    const failing: Directory = {
      ...folder,
      pathTo: () => {
        throw Object.assign(new Error('disk'), { code: 'EIO' })
      },
    }
    createTempName(failing)
    recordTemps(folder, seal, '.')
    dropTemps(failing)
    removeOwnRecord(folder, seal)
    expect(readdirSync(root)).toHaveLength(1)
  })
})
