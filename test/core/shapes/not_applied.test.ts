import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { markNotApplied } from '../../../build/core/shapes/index.js'

/** Hints of all codes, from the generated table. */
const hints = readFileSync(new URL('../../../docs/errors.md', import.meta.url), 'utf8')
  .split('\n')
  .flatMap((line) =>
    line.startsWith('| `VT_')
      ? line
          .split('|')
          .map((cell) => cell.trim())
          .at(-3)!
      : [],
  )

it('names a next action for a change that did not happen, whatever its hint begins with', () => {
  expect(hints.length).toBeGreaterThan(150)
  const says = hints.map((hint) =>
    String(markNotApplied({ code: 'VT_X', message: 'It was refused.', hint, retryable: false }).details!['say']),
  )
  const odd = says.filter(
    (say) =>
      /next action: (?:no|nothing|the|it|a|an|line|there|this|another|what|nobody|somebody|other) /i.test(say) ||
      /next action: ?\.$/.test(say),
  )
  expect(odd).toEqual([])
  expect(says.filter((say) => say.includes('next action: copy'))).not.toEqual([])
})
