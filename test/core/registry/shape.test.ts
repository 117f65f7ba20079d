import { expect, it } from 'vitest'
import { foldKey, listTypes } from '../../../build/core/registry/index.js'
import { fc } from '../../support/property.js'

it('folds a key to one form in every spelling, and a longer key to another', () => {
  const word = fc.stringMatching(/^[a-z]{1,4}$/)
  fc.assert(
    fc.property(fc.array(word, { minLength: 1, maxLength: 4 }), (words) => {
      const capital = (text: string) => text[0]!.toUpperCase() + text.slice(1)
      const spellings = [
        words.join('_'),
        words.join('-'),
        words.map(capital).join(''),
        words.map(capital).join('-'),
        words.join('_').toUpperCase(),
        `__${words.join('')}`,
      ]
      expect(new Set(spellings.map(foldKey)).size).toBe(1)
      expect(foldKey(foldKey(spellings[0]!))).toBe(foldKey(spellings[0]!))
      expect(foldKey(`${spellings[0]}x`)).not.toBe(foldKey(spellings[0]!))
    }),
  )
})

it('collects the types of a value from all branches of its schema', () => {
  expect([
    ...listTypes({ type: ['string', 'null'], anyOf: [{ type: 'integer' }, { oneOf: [{ type: 'array' }, {}] }] }),
  ]).toEqual(['string', 'null', 'integer', 'array'])
  expect([...listTypes({})]).toEqual([])
})
