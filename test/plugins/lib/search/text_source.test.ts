import { describe, expect, it } from 'vitest'
import { readNextLines, readPreviousLines } from '../../../../build/plugins/lib/search/index.js'
import { fc } from '../../../support/property.js'

describe('text source context', () => {
  it('returns the whole lines before and after a place without their ends', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom('', 'a', 'é', 'long line'), fc.constantFrom('\n', '\r\n')), {
          minLength: 1,
          maxLength: 8,
        }),
        fc.nat({ max: 8 }),
        fc.nat({ max: 10 }),
        fc.boolean(),
        async (lines, at, count, open) => {
          const whole = lines.map(
            ([text, end], index) => text + (open && index === lines.length - 1 && text !== '' ? '' : end),
          )
          const bytes = Buffer.from(whole.join(''))
          const source = {
            bytes: bytes.length,
            read: async (offset: number, length: number) => bytes.subarray(offset, offset + length),
          }
          const index = Math.min(at, lines.length)
          const offset = Buffer.byteLength(whole.slice(0, index).join(''))
          const texts = lines.map(([text]) => text)
          expect((await readPreviousLines(source, offset, count)).map(String)).toEqual(
            count === 0 ? [] : texts.slice(0, index).slice(-count),
          )
          expect((await readNextLines(source, offset, count)).map(String)).toEqual(texts.slice(index, index + count))
        },
      ),
    )
  })
})
