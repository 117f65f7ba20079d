import { describe, expect, it } from 'vitest'
import {
  addItem,
  createTracker,
  parseTracker,
  formatTracker,
  updateTracker,
} from '../../../../build/plugins/agent/task/index.js'
import { fc } from '../../../support/property.js'

const statuses = ['pending', 'in_progress', 'completed', 'blocked'] as const
const text = (maxLength: number) =>
  fc
    .string({ unit: 'grapheme', minLength: 1, maxLength })
    .map((said) => said.replace(/[\r\n]/g, ' ').trim())
    .filter((said) => said !== '' && said.length <= maxLength)
const odd = fc.oneof(
  text(60),
  fc.constantFrom('- [x] done', '## Notes', '# title', 'verify: npm test', '[ ]', '<!-- vtcode -->', '`', 'a: b'),
)
const item = fc.record(
  {
    description: odd,
    status: fc.constantFrom(...statuses),
    files: fc.array(odd, { maxLength: 4 }),
    outcome: odd,
    verify: fc.array(odd, { maxLength: 3 }),
  },
  { requiredKeys: ['description'] },
)
const items = fc.uniqueArray(item, { minLength: 1, maxLength: 8, selector: ({ description }) => description })

describe('tracker', () => {
  it('returns the same tracker after writing and parsing, whatever its texts hold', () => {
    fc.assert(
      fc.property(odd, items, fc.option(fc.string({ unit: 'grapheme', maxLength: 200 })), (title, given, notes) => {
        let tracker = createTracker({ title, items: given })
        if (notes)
          tracker = updateTracker(tracker, {
            index: 1,
            notes: notes
              .replace(/\r/g, '')
              .split('\n')
              .map((line) => line.trimEnd())
              .join('\n'),
          })
        expect(parseTracker(formatTracker(tracker))).toEqual(tracker)
      }),
    )
  })

  it('keeps order, texts and statuses through any series of changes and round trips', () => {
    const change = fc.oneof(
      fc.record({ add: odd, after: fc.option(fc.nat(9), { nil: undefined }) }),
      fc.record({ index: fc.integer({ min: 1, max: 9 }), status: fc.constantFrom(...statuses) }),
      fc.constant('trip' as const),
    )
    fc.assert(
      fc.property(items, fc.array(change, { maxLength: 20 }), (given, changes) => {
        let tracker = createTracker({ title: 't', items: given })
        const model = tracker.items.map(({ description, status }) => ({ description, status: status as string }))
        for (const one of changes) {
          try {
            if (one === 'trip') tracker = parseTracker(formatTracker(tracker))
            else if ('add' in one) {
              const after = one.after ?? tracker.items.length
              tracker = addItem(tracker, one.add, one.after)
              model.splice(after, 0, { description: one.add, status: 'pending' })
            } else {
              tracker = updateTracker(tracker, one)
              model[one.index - 1]!.status = one.status
            }
          } catch (error) {
            expect((error as { code?: string }).code).toMatch(/^VT_(TASK_INDEX|TASK_FULL|INPUT_INVALID)$/)
          }
        }
        expect(tracker.items.map(({ description, status }) => ({ description, status }))).toEqual(model)
      }),
    )
  })

  it.each([
    ['', 2, 'a title is needed'],
    ['no title', 1, 'a title is needed'],
    ['# t\n\n- [ ] a\n- [?] b\n', 4, 'an item is'],
    ['# t\n- [ ] a\n  when: today\n', 3, 'an item is'],
    ['# t\n- [ ] \n', 2, 'an item is'],
    [`# t\n- [ ] ${'a'.repeat(301)}\n`, 2, 'at most 300'],
    [`# ${'t'.repeat(201)}\n`, 1, 'at most 200'],
    [`# t\n- [ ] a\n  verify:\n${'    - x\n'.repeat(11)}`, 15, 'at most 10'],
  ])('rejects a file that is no tracker and names the line: %j', (said, line, problem) => {
    expect(() => parseTracker(said)).toThrow(new RegExp(`^Line ${line}: .*${problem}`))
  })

  it('rejects duplicate items, a 101st item and a tracker over its size', () => {
    expect(() => createTracker({ title: 't', items: ['a', 'b', 'a'] })).toThrow('items[2] is "a", as items[0] is')
    const full = createTracker({ title: 't', items: Array.from({ length: 100 }, (_, at) => `item ${at}`) })
    expect(() => addItem(full, 'one more')).toThrow('100 items')
    expect(() => updateTracker(full, { index: 101, status: 'completed' })).toThrow(
      'Item 101 not found; the items are 1 to 100.',
    )
    expect(() =>
      createTracker({
        title: 't',
        items: Array.from({ length: 90 }, (_, at) => ({
          description: `${at}`,
          verify: Array.from({ length: 10 }, () => 'x'.repeat(900)),
        })),
      }),
    ).toThrow('at most 65536')
  })
})
