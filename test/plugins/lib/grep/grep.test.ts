import { describe, expect, it } from 'vitest'
import type { Context } from '../../../../build/core/contract/index.js'
import { createGrep } from '../../../../build/plugins/lib/grep/index.js'

describe('createGrep', () => {
  const grep = createGrep({
    backend: 'ripgrep',
    search: () => Promise.resolve(undefined),
    findPositions: () => Promise.resolve(undefined),
  })
  const search = async (pattern: string): Promise<unknown> => {
    const input = {
      pattern,
      path: '.',
      context_lines: 0,
      max_results: 10,
      skip: 0,
      literal: false,
      include_hidden: false,
    }
    return grep({ input, given: {} } as never, {} as Context)
  }

  it('declines when the engine cannot be started', async () => {
    expect(await search('a')).toBeUndefined()
  })
  it('refuses an empty pattern', async () => {
    await expect(search('')).rejects.toMatchObject({ code: 'VT_INPUT_INVALID' })
  })
})
