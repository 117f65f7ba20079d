import assert from 'node:assert/strict'
import type { JsonObject } from '../../core/index.js'

/**
 * Objects are matched as subsets, arrays element by element and by length; a string that starts with `re:` is a regular
 * expression for the whole string. Returns true, or throws an `AssertionError` that names the place.
 */
export function matches(actual: unknown, expected: unknown, place = 'value'): true {
  if (typeof expected === 'string' && expected.startsWith('re:')) {
    assert.ok(typeof actual === 'string', `${place} is not a string: ${show(actual)}`)
    assert.ok(
      new RegExp(`^(?:${expected.slice(3)})$`, 'u').test(actual),
      `${place} ${show(actual)} does not match /${expected.slice(3)}/`,
    )
  } else if (Array.isArray(expected)) {
    assert.ok(Array.isArray(actual), `${place} is not an array: ${show(actual)}`)
    assert.equal(
      actual.length,
      expected.length,
      `${place} has ${actual.length} items instead of ${expected.length}: ${show(actual)}`,
    )
    expected.forEach((item, index) => matches(actual[index], item, `${place}[${index}]`))
  } else if (expected !== null && typeof expected === 'object') {
    assert.ok(actual !== null && typeof actual === 'object', `${place} is not an object: ${show(actual)}`)
    for (const [key, value] of Object.entries(expected)) matches((actual as JsonObject)[key], value, `${place}.${key}`)
  } else {
    assert.ok(Object.is(actual, expected), `${place} is ${show(actual)} instead of ${show(expected)}`)
  }
  return true
}

/** A value as an assertion message shows it. */
export const show = (value: unknown): string => (JSON.stringify(value) ?? String(value)).slice(0, 600)
