import { mkdirSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { matches, tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { changeCases, layOut, leftIn, type ChangeCase } from '../../support/changes.js'
import { askAll, faces, rowsOf, type Answer, type Face } from '../../support/faces.js'

// Each surface plays the whole table, so that none avoids the writer.
describe('hostile changes', () => {
  let home: TempWorkspace
  let count = 0
  beforeAll(async () => {
    home = await tempWorkspace()
    mkdirSync(join(home.root, '../out'), { recursive: true })
  })
  afterAll(() => home[Symbol.asyncDispose]())

  /** Plays a case through a surface and returns what differs in the answer and in the files. */
  async function play(one: ChangeCase, face: Face): Promise<unknown[]> {
    const name = `c${count++}`
    const folder = join(home.root, name)
    layOut(one, folder)
    let answer: Answer = { ok: true }
    for (const step of one.steps(name)) {
      if (typeof step === 'function') step(folder)
      else answer = await face.call(...step)
    }
    const { found, expected } = leftIn(one, folder)
    try {
      expect(answer.ok ? 'ok' : answer.error?.code).toBe(one.answer)
      if (!answer.ok)
        matches(answer.error, {
          ...one.error,
          details: { ...(one.error as Answer['error'])?.details, not_applied: true },
        })
      expect(found).toEqual(expected)
      return []
    } catch (error) {
      return [{ row: one.row, title: one.title, answer, message: (error as Error).message }]
    }
  }

  it.each(Object.keys(faces))('ends each hostile change as its row requires through %s', async (name) => {
    await using face = await faces[name]!({ home, root: home.root })
    // A program remembers a session: at the command line each call begins a new one.
    const all = rowsOf(name, changeCases, 4).filter(({ session }) => !session || name !== 'the command line')
    expect((await askAll(all, (one) => play(one, face))).flat()).toEqual([])
    expect(readdirSync(join(home.root, '../out'))).toEqual([])
  })
})
