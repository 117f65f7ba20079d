import { expect, it } from 'vitest'
import { applyTextEdits } from '../../../../build/plugins/lib/symbols/index.js'
import { fc, runs } from '../../../support/property.js'

const piece = fc.oneof(fc.constantFrom('\n', '\r\n', '\r', '\u{1F600}', 'é', ''), fc.string({ maxLength: 4 }))

it('applies edits exactly as text replaced from the end to the begin', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(piece, piece), { maxLength: 12 }), (parts) => {
      // Every second piece is replaced; a text is joined first, because pieces may join to one line end.
      const before = parts.map(([kept, old]) => kept + old).join('|')
      const places: { from: number; to: number; newText: string }[] = []
      let at = 0
      for (const [kept, old] of parts) {
        places.push({ from: at + kept.length, to: at + kept.length + old.length, newText: `<${old.length}>` })
        at += kept.length + old.length + 1
      }
      const toPlace = (offset: number) => {
        const lines = before.slice(0, offset).split(/\r\n|\n|\r/)
        return { line: lines.length - 1, character: lines.at(-1)!.length }
      }
      // A place between \r and \n is none of the protocol.
      fc.pre(
        places.every(({ from, to }) => ![from, to].some((one) => before[one - 1] === '\r' && before[one] === '\n')),
      )
      const edits = places.map(({ from, to, newText }) => ({
        range: { start: toPlace(from), end: toPlace(to) },
        newText,
      }))
      const expected = places.reduceRight(
        (text, { from, to, newText }) => text.slice(0, from) + newText + text.slice(to),
        before,
      )
      expect(applyTextEdits(before, { path: 'a', edits })).toBe(expected)
    }),
    { numRuns: runs(200) },
  )
})
