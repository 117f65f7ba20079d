import { describe, expect, it } from 'vitest'
import { createMessageSplitter } from '../../../../build/plugins/lib/frames/index.js'
import { fc } from '../../../support/property.js'

function split(maxBytes: number, chunks: Buffer[]): (string | { refused: unknown })[] {
  const seen: (string | { refused: unknown })[] = []
  const take = createMessageSplitter(maxBytes, {
    line: (text) => void seen.push(text),
    refuse: (id) => void seen.push({ refused: id }),
  })
  chunks.forEach(take)
  return seen
}

describe('createMessageSplitter', () => {
  it('returns the same lines for every division of the stream', () => {
    const text = fc.array(fc.string({ unit: 'grapheme', maxLength: 8 }).filter((line) => !/[\r\n]/.test(line)))
    fc.assert(
      fc.property(text, fc.array(fc.nat(64), { maxLength: 8 }), (lines, cuts) => {
        const whole = Buffer.from(lines.map((line) => `${line}\n`).join(''))
        const places = [0, ...cuts.map((cut) => Math.min(cut, whole.length)).sort((a, b) => a - b), whole.length]
        const chunks = places.slice(1).map((to, at) => whole.subarray(places[at], to))
        expect(split(1024, chunks)).toEqual(lines.filter((line) => /\S/.test(line)))
      }),
    )
  })

  it('refuses a line over the limit once, with the id at its start or its end, and reads on', () => {
    const long = 'x'.repeat(100)
    const lines = [`{"id":7,"x":"${long}"}`, `{"x":"${long}","id":"b"}`, `{"x":"${long}"}`, '{}', '']
    const pieces = [...lines.join('\n')].map((one) => Buffer.from(one))
    expect(split(64, pieces)).toEqual([{ refused: 7 }, { refused: null }, { refused: 'b' }, { refused: null }, '{}'])
  })
})
