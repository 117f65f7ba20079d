import { describe, expect, it } from 'vitest'
import { parseSkill } from 'vtcode'
import { fc, runs } from '../../support/property.js'

// A comment makes the parser read what is otherwise read without it: both must say the same of every block.
const read = (lines: string[]) => {
  const { skill, body, diagnostics } = parseSkill(
    Buffer.from(`---\n${lines.join('\n')}\n---\nBody.\n`),
    '/s/demo/SKILL.md',
  )
  const told = diagnostics.map(({ code, message }) => `${code} ${code === 'VT_SKILL_SPLIT' ? '' : message}`)
  return { skill, body, told }
}
const both = (lines: string[]): void => {
  expect(read(lines)).toEqual(read(['# read by the parser', ...lines]))
}

const keys = ['name', 'description', 'license', 'metadata', 'allowed-tools', 'compatibility', 'constructor', 'x_1']
const bits = [
  'word',
  'two words',
  'demo',
  ':',
  ': ',
  ' #',
  '#',
  ' ',
  '  ',
  '-',
  '- ',
  '---',
  '"',
  "'",
  '[',
  ']',
  '{',
  '}',
  ',',
  '&a',
  '*a',
  '!t',
  '%',
  '@',
  '`',
  '|',
  '>',
  '?',
  '? ',
  '=',
  '<<',
  '~',
  'null',
  '10:30',
  'http://x.y',
  'é',
  '技',
  '😀',
  '\u00a0',
  '\u2028',
  '\ufeff',
  '\u0085',
  '\t',
  '\\',
  '\\n',
  '"q"',
  "'q'",
  '"a: b"',
  "it's",
  '',
  '\n',
  '\n ',
  '\n  ',
]
const text = fc.array(fc.constantFrom(...bits), { maxLength: 5 }).map((parts) => parts.join(''))
const key = fc.constantFrom(...keys)
const indent = fc.constantFrom(' ', '  ', '   ')
const block = fc.array(
  fc.oneof(
    fc.tuple(key, text).map(([key, value]) => `${key}: ${value}`),
    fc.tuple(key, text).map(([key, value]) => `${key}: word${value}`),
    fc
      .tuple(key, fc.constantFrom('>-', '|-', '>', '|', '>+', '>-  '), indent, fc.array(text, { maxLength: 3 }))
      .map(([key, style, indent, lines]) => [`${key}: ${style}`, ...lines.map((line) => indent + line)].join('\n')),
    fc
      .tuple(key, indent, fc.array(fc.tuple(key, text), { maxLength: 3 }))
      .map(([key, indent, pairs]) =>
        [`${key}:`, ...pairs.map(([name, value]) => `${indent}${name}: ${value}`)].join('\n'),
      ),
    text,
  ),
  { maxLength: 4 },
)

describe('simple front matter', () => {
  it('reads simple front matter as the YAML parser does, for any content', () => {
    fc.assert(
      fc.property(block, (lines) => both(['description: Use it.', ...lines])),
      { numRuns: runs(1000) },
    )
  })
  it.each<[title: string, lines: string[]]>([
    ['long enough to exhaust a careless expression', [`description: ${'a b#c'.repeat(100_000)}`]],
    ['of many lines', ['description: x', ...Array.from({ length: 900 }, (_, i) => `k${i}: v`)]],
    ['of many lines in one text', ['description: >-', ...Array.from({ length: 900 }, () => '  word')]],
    [
      'of many lines in one map',
      ['description: x', 'metadata:', ...Array.from({ length: 900 }, (_, i) => `  k${i}: v`)],
    ],
  ])('reads simple front matter as the YAML parser does where it is %s', (_, lines) => both(lines))
})
