import { describe, expect, it } from 'vitest'
import { VtError } from '../../../../build/core/shapes/index.js'
import { ignoreMissing, listExcludedNames, listNaming } from '../../../../build/plugins/lib/walk/index.js'

describe('listExcludedNames', () => {
  it('leaves out folders of dependencies and metadata unless the walk begins in them', () => {
    expect(listExcludedNames('.')).toEqual(['.git', 'node_modules', '.vtcode'])
    expect(listExcludedNames('a/node_modules/b')).toEqual(['.git', '.vtcode'])
  })
  it('keeps a folder that a glob names, but not one that a glob excludes', () => {
    expect(listExcludedNames('.', ['**/node_modules/**', '!.git'])).toEqual(['.git', '.vtcode'])
  })
})

describe('listNaming', () => {
  it('joins globs and patterns that name entries', () => {
    expect(listNaming({ globs: ['src/**'], named: ['.env*'] })).toEqual(['src/**', '.env*'])
    expect(listNaming({})).toEqual([])
  })
})

describe('ignoreMissing', () => {
  it('returns nothing for an error of the workspace and throws any other', () => {
    const missing = new VtError({ code: 'VT_PATH_NOT_FOUND', message: 'm', hint: 'h', retryable: false })
    expect(ignoreMissing(missing)).toBeUndefined()
    expect(() => ignoreMissing(new RangeError('other'))).toThrow(RangeError)
  })
})
