import { expect, it } from 'vitest'
import { isLinearToParse, MAX_LINE_UNITS, createPositions } from '../../../../build/plugins/lib/syntax/index.js'

it('calls a text even when no line is long and few brackets are open at a time', () => {
  const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth)
  const even = [
    '',
    '\n'.repeat(100_000),
    `${'x'.repeat(MAX_LINE_UNITS - 1)}\n`.repeat(3),
    nested('([{', '}])', 80),
    '()'.repeat(5_000),
    ')'.repeat(1_000),
  ]
  const uneven = [
    'x'.repeat(MAX_LINE_UNITS + 2),
    `a\n${'é'.repeat(MAX_LINE_UNITS + 2)}`,
    nested('(', ')', 300),
    nested('@media x{', '}', 300),
    '['.repeat(300),
    nested('([{', '}])', 90),
  ]
  expect(even.map((text) => isLinearToParse(text, MAX_LINE_UNITS))).toEqual(even.map(() => true))
  expect(uneven.map((text) => isLinearToParse(text, MAX_LINE_UNITS))).toEqual(uneven.map(() => false))
  expect([isLinearToParse('x'.repeat(MAX_LINE_UNITS + 2)), isLinearToParse('['.repeat(300))]).toEqual([true, false])
})

it('counts code points between two places, also past the marks', () => {
  const text = `${'é😀x'.repeat(200)}\n${'plain'.repeat(100)}`
  for (const [from, to] of [
    [0, 4],
    [1, 800],
    [4, 801],
    [128, 1000],
    [796, 796],
  ] as const)
    expect(createPositions(text).points(from, to)).toBe([...text.slice(from, to)].length)
  expect(createPositions('plain').points(1, 4)).toBe(3)
})
