import { describe, expect, it } from 'vitest'
import { findRequiredText, findUnbound, isProse, toTextTrace } from '../../../../build/plugins/lib/patterns/index.js'

describe('toTextTrace', () => {
  it.each([
    ['connect($A)', 'x = connect( host )', true],
    ['connect($A)', 'connected = 1', false],
    ['a.load[$I] += $$$B', 'a . load[ i ]\n  += 1', true],
    ['call({ retries: $N })', 'call({\n  retries: 3,\n})', true],
    ['load<$T>()', 'load<string>()', true],
  ])('finds text like %s in %j: %s', (pattern, text, found) => {
    expect(new RegExp(toTextTrace(pattern)!).test(text)).toBe(found)
  })
  it('finds nothing to look for without a word, and in a very long pattern', () => {
    expect([toTextTrace('$A + $B'), toTextTrace('i++'), toTextTrace('x'.repeat(5000))]).toEqual([
      undefined,
      undefined,
      undefined,
    ])
  })
})

describe('isProse', () => {
  it.each(['AgentLoop agent loop', 'where is the log?', 'Schleifen der Agenten'])('accepts %s', (text) => {
    expect(isProse(text)).toBe(true)
  })
  it.each(['log', 'a = b', 'f(x)', 'x => y', 'class $A', 'a; b'])('refuses %s', (text) => {
    expect(isProse(text)).toBe(false)
  })
})

describe('findRequiredText', () => {
  it('returns the longest word that every match holds, never a keyword', () => {
    expect(findRequiredText('async function load($A) {}')).toBe('load')
    expect(findRequiredText('if ($A) { $$$ }')).toBeUndefined()
    expect(findRequiredText('load($A)', 'smart', 'identifier')).toBeUndefined()
  })
})

describe('findUnbound', () => {
  it('returns the names that only the replacement has', () => {
    expect(findUnbound('f($A, $$$B)', 'g($B, $C)')).toEqual(['C'])
  })
})
