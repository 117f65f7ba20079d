import { describe, expect, it } from 'vitest'
import { readEntry } from '../../../../build/plugins/lib/marketplace/index.js'

describe('readEntry', () => {
  it('keeps the facts and the parts that an entry lists, and drops values of a wrong type', () => {
    const entry = {
      name: 'one',
      description: 7,
      author: { name: 'Ada' },
      tags: ['a', 1],
      strict: false,
      skills: ['./a'],
      commands: true,
      agents: null,
    }
    expect(readEntry(entry)).toEqual({
      author: 'Ada',
      keywords: ['a'],
      listed: { name: 'one', skills: ['./a'], strict: false },
    })
  })

  it('finds no listed parts in an entry without any, whatever `strict` is', () => {
    expect(readEntry({ name: 'one', strict: false })).toEqual({ keywords: [] })
  })
})
