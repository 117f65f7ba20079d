import { describe, expect, it } from 'vitest'
import { findAddressFault, mergeObjects } from '../../../../build/plugins/agent/providers/index.js'
import { fc } from '../../../support/property.js'

describe('findAddressFault', () => {
  it('accepts https, and http to this machine only', () => {
    for (const address of [
      'https://example.org/v1',
      'http://localhost:8080',
      'http://127.0.0.9/v1',
      'http://[::1]:1',
    ]) {
      expect([address, findAddressFault(address)]).toEqual([address, undefined])
    }
    for (const address of ['http://example.org', 'ftp://localhost', 'http://localhost.example.org', 'v1', '']) {
      expect([address, typeof findAddressFault(address)]).toEqual([address, 'string'])
    }
  })
  it('names the field whose address contains a user or a fragment', () => {
    expect(findAddressFault('https://me@example.org', 'token_url')).toMatch(/^token_url has a user name/)
    expect(findAddressFault('https://example.org/#x')).toMatch(/^base_url .* has a fragment/)
  })
})

describe('merged', () => {
  it('keeps the later value of a key and joins objects', () => {
    expect(mergeObjects({ a: 1, b: { c: 1, d: 2 } }, undefined, { b: { d: 3 } })).toEqual({ a: 1, b: { c: 1, d: 3 } })
  })
  it('merges associatively', () => {
    const object = fc.dictionary(
      fc.constantFrom('a', 'b'),
      fc.oneof(fc.integer(), fc.dictionary(fc.constantFrom('a', 'b'), fc.integer())),
      { noNullPrototype: true },
    )
    fc.assert(
      fc.property(object, object, object, (one, two, three) => {
        expect(mergeObjects(mergeObjects(one, two), three)).toEqual(mergeObjects(one, two, three))
      }),
    )
  })
})
