import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { findAffected, readGraph } from './affected.mjs'

const root = fileURLToPath(new URL('../..', import.meta.url))
const graph = readGraph(root)
const select = (...changed: string[]): string[] => findAffected(root, changed, graph).map(({ file }) => file)

describe('findAffected', () => {
  it('puts the test of a changed action before all others', () => {
    expect(select('plugins/unified_search/grep.ts')[0]).toBe('test/plugins/unified_search/grep.test.ts')
  })
  it('selects tests that name a tool and its action, and the rules of the house', () => {
    expect(select('plugins/unified_search/grep.ts')).toEqual(
      expect.arrayContaining(['test/conformance/unified_search.test.ts', 'test/house.test.ts', 'test/kit.test.ts']),
    )
  })
  it('selects the tests of verbs that use a changed library', () => {
    expect(select('plugins/lib/worktrees/index.ts')).toEqual(
      expect.arrayContaining(['test/plugins/lib/worktrees/worktrees.test.ts', 'test/plugins/agents/merge.test.ts']),
    )
  })
  it('selects the tests that import a changed support module, and a changed test itself', () => {
    const affected = findAffected(root, ['test/support/pdf.ts', 'test/core/schema/cost.test.ts'], graph)
    expect(affected).toContainEqual({ file: 'test/plugins/unified_file/pdf.test.ts', distance: 1 })
    expect(affected[0]).toEqual({ file: 'test/core/schema/cost.test.ts', distance: 0 })
  })
  it('reaches a page of the documents from its text, and nothing from a file that no test reads', () => {
    expect(select('docs/mcp.md')).toEqual([
      'test/contract.test.ts',
      'test/pages.test.ts',
      'test/pages/long.test.ts',
      'test/pages/others.test.ts',
    ])
    expect(select('LICENSE')).toEqual([])
  })
})
