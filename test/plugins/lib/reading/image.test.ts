import { describe, expect, it } from 'vitest'
import { readImageFacts } from '../../../../build/plugins/lib/reading/index.js'
import { fc } from '../../../support/property.js'

/** Builds a PNG file of a header and an end; its size fields are those of the PNG specification (big-endian, from byte 16). */
function png(width: number, height: number): Buffer {
  const size = Buffer.alloc(8)
  size.writeUInt32BE(width)
  size.writeUInt32BE(height, 4)
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'latin1'), size, Buffer.from('IEND', 'latin1')])
}

describe('readImageFacts', () => {
  it('reads type and size of a PNG file without decoding it', () => {
    const side = fc.integer({ min: 1, max: 8000 })
    fc.assert(
      fc.property(side, side, (width, height) => {
        expect(readImageFacts(png(width, height))).toEqual({ mime_type: 'image/png', width, height })
      }),
    )
  })
  it('rejects a file that is cut, too wide or of another type, with the reason', () => {
    expect(readImageFacts(png(3, 4).subarray(0, 20))).toMatch(/broken image\/png/)
    expect(readImageFacts(png(8001, 1))).toMatch(/8001 × 1 points/)
    expect(readImageFacts(Buffer.from('text'))).toMatch(/not those of a PNG/)
  })
  it('returns a result for any bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 64 }), (bytes) => {
        expect(['string', 'object']).toContain(typeof readImageFacts(Buffer.from(bytes)))
      }),
    )
  })
})
