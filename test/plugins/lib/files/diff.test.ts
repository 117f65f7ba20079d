import { applyPatch, parsePatch as readPatch } from 'diff'
import { describe, expect, it } from 'vitest'
import {
  Changes,
  countLines,
  diffChanges,
  diffTexts,
  findLineNumber,
  countChangedLines,
} from '../../../../build/plugins/lib/files/index.js'
import { parsePatch, placeHunks } from '../../../../build/plugins/lib/patch/index.js'
import { fc, runs } from '../../../support/property.js'

const room = { lines: 10_000, bytes: 1_000_000 }
const line = fc.constantFrom('a', 'b', '', ' x', 'é', '--', '+a', '\\ no')
/** Generates a text of lines, often with repeated lines; the last may have no end. */
const text = fc
  .tuple(fc.array(line, { minLength: 1, maxLength: 12 }), fc.boolean())
  .map(([lines, open]) => lines.join('\n') + (open && lines.at(-1) !== '' ? '' : '\n'))
const spans = (length: number) =>
  fc
    .array(fc.tuple(fc.nat({ max: length }), fc.nat({ max: length }), fc.constantFrom('', 'n', '\n', 'new\nlines\n')), {
      maxLength: 4,
    })
    .map((all) => {
      const points = all.flatMap(([start, end]) => [start, end]).sort((a, b) => a - b)
      return all.map(([, , by], index) => ({
        start: points[2 * index]!,
        end: points[2 * index + 1]!,
        by: Buffer.from(by),
      }))
    })

describe('Changes', () => {
  /** Generates texts of one byte per character, changed in two rounds. */
  const changed = fc.string({ unit: fc.constantFrom('a', 'b', '\n'), maxLength: 40 }).chain((before) => {
    const first = spans(before.length)
    return first.chain((one) => {
      const changes = new Changes(Buffer.from(before))
      changes.replace(one)
      return fc.tuple(fc.constant(before), fc.constant(one), spans(changes.bytes.length))
    })
  })

  it('finds the differing pieces and leaves the rest unchanged', () => {
    fc.assert(
      fc.property(changed, ([before, one, two]) => {
        const changes = new Changes(Buffer.from(before))
        changes.replace(one)
        changes.replace(two)
        let [rebuilt, from] = ['', 0]
        for (const { oldStart, oldEnd, start, end } of changes.all) {
          rebuilt += before.slice(from, oldStart)
          expect(rebuilt.length).toBe(start)
          rebuilt += changes.bytes.toString('latin1', start, end)
          from = oldEnd
        }
        expect(rebuilt + before.slice(from)).toBe(changes.bytes.toString())
      }),
      { numRuns: runs(500) },
    )
  })
  it('writes a diff that turns the old text into the new one', () => {
    fc.assert(
      fc.property(changed, ([before, one, two]) => {
        const changes = new Changes(Buffer.from(before))
        changes.replace(one)
        changes.replace(two)
        expect(applyPatch(before, diffChanges('f', changes, room))).toBe(changes.bytes.toString())
      }),
      { numRuns: runs(500) },
    )
  })
  it('shows changes at their lines in the old and the new text', () => {
    const edits = fc.uniqueArray(fc.tuple(fc.nat({ max: 79 }), fc.constantFrom('', 'n\n', 'n\nn\n', 'n\n\nn\nn\n')), {
      minLength: 1,
      maxLength: 5,
      selector: ([at]) => at,
    })
    fc.assert(
      fc.property(edits, fc.constantFrom('', 'open'), (edits, open) => {
        const lines = Array.from({ length: 80 }, (_, at) => `line ${at}\n`)
        const starts = lines.map((_, at) => lines.slice(0, at).join('').length)
        const before = lines.join('') + open
        const changes = new Changes(Buffer.from(before))
        changes.replace(
          [...edits]
            .sort(([a], [b]) => a - b)
            .map(([at, by]) => ({ start: starts[at]!, end: starts[at]! + lines[at]!.length, by: Buffer.from(by) })),
        )
        const [was, is] = [before, changes.bytes.toString()].map((text) => text.split('\n'))
        for (const hunk of readPatch(diffChanges('f', changes, room))[0]!.hunks) {
          const side = (mark: string) =>
            hunk.lines.filter((line) => line.startsWith(' ') || line.startsWith(mark)).map((line) => line.slice(1))
          expect([side('-'), side('+')]).toEqual([
            was!.slice(hunk.oldStart - 1, hunk.oldStart - 1 + hunk.oldLines),
            is!.slice(hunk.newStart - 1, hunk.newStart - 1 + hunk.newLines),
          ])
        }
      }),
      { numRuns: runs(200) },
    )
  })
  it('counts lines by their numbers', () => {
    fc.assert(
      fc.property(text, (text) => {
        const bytes = Buffer.from(text)
        expect(countLines(bytes)).toBe(findLineNumber(bytes, bytes.length - 1))
        expect(countLines(bytes)).toBe(text.replace(/\n$/, '').split('\n').length)
      }),
    )
  })
})

describe('diffTexts', () => {
  it('writes a patch that the parser reads and that yields the new text', () => {
    fc.assert(
      fc.property(text, text, (before, after) => {
        fc.pre(before !== after)
        const diff = diffTexts('dir/f', Buffer.from(before), Buffer.from(after), room)!
        const [section, ...others] = parsePatch(diff)
        expect([section, others]).toMatchObject([{ op: 'update', path: 'dir/f' }, []])
        if (section?.op !== 'update') return
        const { spans, added, removed } = placeHunks('dir/f', Buffer.from(before), section.hunks)
        const changes = new Changes(Buffer.from(before))
        changes.replace(spans)
        expect(changes.bytes.toString()).toBe(after)
        expect({ added, removed }).toEqual(countChangedLines(Buffer.from(before), Buffer.from(after)))
      }),
      { numRuns: runs(500) },
    )
  })
  it('cuts a long diff within its limit and names the number of missing lines', () => {
    fc.assert(
      fc.property(text, text, fc.integer({ min: 3, max: 12 }), (before, after, lines) => {
        fc.pre(before !== after)
        const whole = diffTexts('f', Buffer.from(before), Buffer.from(after), room)!
        const cut = diffTexts('f', Buffer.from(before), Buffer.from(after), { lines, bytes: room.bytes })!
        if (cut === whole) return
        const shown = cut.split('\n').slice(0, -2)
        expect(shown.length + 1).toBeLessThanOrEqual(lines)
        expect(whole.split('\n').slice(0, shown.length)).toEqual(shown)
        expect(cut.split('\n').at(-2)).toBe(`[${whole.split('\n').length - 1 - shown.length} more lines of the diff]`)
      }),
    )
  })
})
