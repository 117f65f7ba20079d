import { inspect } from 'node:util'
import { chai } from 'vitest'

/** Codes that the assertions of this test file named and found in the value under test. */
export const seen = new Set<string>()

const codesIn = (value: unknown): Set<string> => {
  const text =
    typeof value === 'string' ? value : inspect(value, { depth: 10, maxArrayLength: 1_000, maxStringLength: 100_000 })
  return new Set(text.match(/VT_[A-Z_]*[A-Z]/g))
}

/** From now on every assertion that holds notes the codes that stand both in what is expected and in what was found. */
export function noteCodes(): void {
  chai.use(({ Assertion }, { flag, overwriteMethod }) => {
    for (const name of [
      'toBe',
      'toEqual',
      'toStrictEqual',
      'toMatchObject',
      'toMatch',
      'toContain',
      'toContainEqual',
      'toHaveProperty',
      'toMatchInlineSnapshot',
    ]) {
      overwriteMethod(
        Assertion.prototype,
        name,
        (original: (...expected: unknown[]) => unknown) =>
          function (this: Chai.AssertionStatic, ...expected: unknown[]) {
            original.apply(this, expected)
            if (flag(this, 'negate')) return
            const named = codesIn(expected)
            if (named.size === 0) return
            const found = codesIn(flag(this, 'object'))
            for (const code of named) if (found.has(code)) seen.add(code)
          },
      )
    }
    // Thrown values are matched inside the assertion, so a match is a find.
    for (const name of ['toThrow', 'toThrowError']) {
      overwriteMethod(
        Assertion.prototype,
        name,
        (original: (...expected: unknown[]) => unknown) =>
          function (this: Chai.AssertionStatic, ...expected: unknown[]) {
            original.apply(this, expected)
            if (!flag(this, 'negate')) for (const code of codesIn(expected)) seen.add(code)
          },
      )
    }
  })
}
