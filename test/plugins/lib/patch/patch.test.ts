import { describe, expect, it } from 'vitest'
import { Changes } from '../../../../build/plugins/lib/files/index.js'
import { parsePatch, placeHunks } from '../../../../build/plugins/lib/patch/index.js'
import { fc, runs } from '../../../support/property.js'

describe('patch', () => {
  const update = (...lines: string[]) => {
    const [section] = parsePatch(['*** Begin Patch', '*** Update File: f', ...lines, '*** End Patch'].join('\n'))
    return section?.op === 'update' ? section.hunks : []
  }
  const applied = (before: string, ...lines: string[]) => {
    const placed = placeHunks('f', Buffer.from(before), update(...lines))
    const changes = new Changes(Buffer.from(before))
    changes.replace(placed.spans)
    return { after: changes.bytes.toString(), fuzzy: placed.fuzzy }
  }

  it('parses or rejects a patch by its syntax alone', () => {
    const lines = fc.array(
      fc.constantFrom(
        '*** Begin Patch',
        '*** End Patch',
        '*** Update File: f',
        '*** Add File: g',
        '*** Delete File: h',
        '*** Move to: i',
        '*** End of File',
        '@@',
        '@@ -1 +1 @@',
        '--- a/f',
        '+++ b/f',
        '+a',
        '-a',
        ' a',
        '',
        '```',
      ),
      { maxLength: 9 },
    )
    fc.assert(
      fc.property(lines, (lines) => {
        try {
          for (const { path } of parsePatch(lines.join('\n'))) expect(['f', 'g', 'h']).toContain(path)
        } catch (error) {
          expect(error).toMatchObject({ name: 'VT_PATCH_SYNTAX' })
        }
      }),
      { numRuns: runs(500) },
    )
  })
  it('finds the exact place first, then without white space, and refuses two places', () => {
    expect(applied('  a\na\n', '@@', '-a', '+b')).toEqual({ after: '  a\nb\n', fuzzy: [] })
    expect(applied('x\n  a\n', '@@', '-a', '+b')).toEqual({ after: 'x\n  b\n', fuzzy: [{ line: 2, pass: 3 }] })
    expect(applied('a\n“q”\n', '@@', ' a', '-"q"', '+z')).toEqual({ after: 'a\nz\n', fuzzy: [{ line: 1, pass: 4 }] })
    const code = (run: () => unknown) => {
      try {
        run()
      } catch (error) {
        return (error as Error).name
      }
      return undefined
    }
    expect(code(() => applied('a\nb\na\n', '@@', '-a', '+c'))).toBe('VT_PATCH_AMBIGUOUS')
    expect(code(() => applied('a\n', '@@', '-z', '+c'))).toBe('VT_PATCH_CONTEXT')
    expect(code(() => applied('a\nb\n', '@@', '-a', '+c', '@@', '-a', '+d'))).toBe('VT_PATCH_OVERLAP')
    expect(applied('a\nb\na\n', '@@ b', '-a', '+c').after).toBe('a\nb\nc\n')
  })
})
