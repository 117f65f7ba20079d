import { expect, it } from 'vitest'
import { isEven, mostInLine, positionsIn } from '../../../../build/plugins/lib/syntax/index.js'

it('a text is even as long as no line is long and few brackets are open at a time, whichever they are', () => {
  const nested = (open: string, close: string, depth: number): string => open.repeat(depth) + close.repeat(depth)
  const even = [
    '',
    '\n'.repeat(100_000),
    `${'x'.repeat(mostInLine - 1)}\n`.repeat(3),
    nested('([{', '}])', 80),
    '()'.repeat(5_000),
    ')'.repeat(1_000),
  ]
  const uneven = [
    'x'.repeat(mostInLine + 2),
    `a\n${'é'.repeat(mostInLine + 2)}`,
    nested('(', ')', 300),
    nested('@media x{', '}', 300),
    '['.repeat(300),
    nested('([{', '}])', 90),
  ]
  expect(even.map((text) => isEven(text, mostInLine))).toEqual(even.map(() => true))
  expect(uneven.map((text) => isEven(text, mostInLine))).toEqual(uneven.map(() => false))
  expect([isEven('x'.repeat(mostInLine + 2)), isEven('['.repeat(300))]).toEqual([true, false])
})

it('code points between two places are counted as they stand, beyond the marks too', () => {
  const text = `${'é😀x'.repeat(200)}\n${'plain'.repeat(100)}`
  for (const [from, to] of [
    [0, 4],
    [1, 800],
    [4, 801],
    [128, 1000],
    [796, 796],
  ] as const)
    expect(positionsIn(text).points(from, to)).toBe([...text.slice(from, to)].length)
  expect(positionsIn('plain').points(1, 4)).toBe(3)
})
