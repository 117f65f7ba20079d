import { describe, expect, it } from 'vitest'
import { filesOf, textOf } from './sources.js'

/** Inputs that slow down, stop or exhaust software of others. Tests use one step over a limit, or a stub. */
const HARMFUL: Record<string, RegExp> = {
  'a repetition of a repetition': /\(\??:?\\?[\w.][+*]\)[+*{]|\(\w\|\w\w\)[+*]/,
  'thousands of brackets or elements in each other':
    /['"`](?:[[({]|<div>|\{\\?"\w+\\?":|- |\? |\{a,b\})['"`]\.repeat\(\s*(?:rounds\()?(?:\d{5,}|\d+_\d{3}_\d{3}|\d{2,}_\d{3}|[3-9]_?\d{3})/,
  'a link to an endless device': /symlink(?:Sync)?\(\s*['"]\/dev\/(?:zero|u?random)|ln -s\w* \/dev\/(?:zero|u?random)/,
  'hundreds of megabytes compressed':
    /(?:gzip|deflate|brotliCompress)Sync\([^\n]*(?:[2-9]\d\d_000_000|2 ?\*\* ?(?:2[89]|3\d))/,
}

const files = [
  ...['.ts', '.mjs', '.md', '.yaml', '.json'].flatMap((end) => filesOf('test', end)),
  ...filesOf('findings', '.sh'),
].filter((file) => !file.endsWith('house/outside_software.test.ts') && !file.includes('/snapshots/'))

describe('inputs of tests for outside software', () => {
  it.each(Object.entries(HARMFUL))('keeps out %s', (_, pattern) => {
    const found = files.flatMap((file) =>
      textOf(file)
        .split('\n')
        .flatMap((line, at) => (pattern.test(line) ? [`${file}:${at + 1}: ${line.trim().slice(0, 100)}`] : [])),
    )
    expect(found).toEqual([])
  })
  it('recognises the forms of harmful inputs', () => {
    const forms = ['(a', '+)+$'].join('')
    expect(HARMFUL['a repetition of a repetition']!.test(forms)).toBe(true)
    const nested = ["'['", '.repeat(10_000)'].join('')
    expect(HARMFUL['thousands of brackets or elements in each other']!.test(nested)).toBe(true)
  })
})
