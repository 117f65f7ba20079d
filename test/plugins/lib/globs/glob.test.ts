import { spawnSync } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compileGlob, parseIgnoreRules, isGlob } from '../../../../build/plugins/lib/globs/index.js'
import { rounds } from '../../../support/exec.js'
import { fc, runs } from '../../../support/property.js'

const name = fc
  .string({ unit: fc.constantFrom('a', 'b', '.', 'é'), minLength: 1, maxLength: 4 })
  .filter((text) => !/^\.+$/.test(text))
const path = fc.array(name, { minLength: 1, maxLength: 4 }).map((names) => names.join('/'))
const part = fc
  .array(fc.constantFrom('a', 'b', '.', 'é', '*', '?', '[ab]', '[!a]', '{a,b.}'), { minLength: 1, maxLength: 4 })
  .map((bits) => bits.join('').replace(/\*+/g, '*'))

describe('compileGlob', () => {
  /** Translates a glob to a JavaScript expression, which may be slow. */
  const expression = (pattern: string): RegExp => {
    const pieces: Record<string, string> = { '{': '(?:', '}': ')', ',': '|', '*': '[^/]*', '?': '[^/]', '.': '\\.' }
    const segment = (text: string) =>
      text.replace(/\[!?\w+\]|[{},*?.]/g, (piece) => pieces[piece] ?? piece.replace('[!', '[^/'))
    const segments = pattern.replace(/^\//, '').split('/')
    // `**` is any number of segments, and at least one at the end.
    const body = segments
      .map((text, index) =>
        index === segments.length - 1
          ? text === '**'
            ? '.+'
            : segment(text)
          : text === '**'
            ? '(?:[^/]+/)*'
            : `${segment(text)}/`,
      )
      .join('')
    return new RegExp(`^${pattern.includes('/') ? '' : '(?:.*/)?'}${body}$`, 'u')
  }
  it('matches a path segment by segment', () => {
    const pattern = fc
      .tuple(
        fc.constantFrom('', '/', '**/'),
        fc.array(fc.oneof({ weight: 4, arbitrary: part }, { weight: 1, arbitrary: fc.constant('**') }), {
          minLength: 1,
          maxLength: 3,
        }),
      )
      .map(([lead, parts]) => lead + parts.join('/'))
    let hits = 0
    fc.assert(
      fc.property(
        pattern.filter((text) => !/\*\*\/\*\*|^\/?\*\*$/.test(text)),
        path,
        (pattern, path) => {
          const expected = expression(pattern).test(path)
          if (expected) hits += 1
          expect([pattern, path, compileGlob(pattern, true)(path)]).toEqual([pattern, path, expected])
        },
      ),
      { numRuns: runs(2000) },
    )
    expect(hits).toBeGreaterThan(runs(50))
  })
  it('matches a name without special characters and an escaped name literally', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('a', '*', '?', '[', ']', '{', '}', ',', '!', '-', '\\'),
          minLength: 1,
          maxLength: 6,
        }),
        name,
        (text, other) => {
          const escaped = text.replace(/[\\*?[\]{},!-]/g, '\\$&')
          expect([
            compileGlob(escaped, true)(text),
            compileGlob(escaped, true)(`x/${text}`),
            compileGlob(escaped, true)(`${text}x`),
          ]).toEqual([true, true, false])
          if (!isGlob(other)) expect(compileGlob(other, true)(other)).toBe(true)
          expect(compileGlob(other.toUpperCase(), false)(other)).toBe(true)
        },
      ),
    )
  })
  it('runs in time linear in its length and refuses more than 1,000 alternatives', () => {
    const started = performance.now()
    expect(compileGlob(`${'a*'.repeat(200)}b`, true)('a'.repeat(5000))).toBe(false)
    expect(compileGlob(`${'**/a/'.repeat(50)}b`, true)('a/'.repeat(2000))).toBe(false)
    expect(performance.now() - started).toBeLessThan(20_000)
    expect(() => compileGlob('{a,b}'.repeat(10), true)).toThrow(RangeError)
    expect(() => compileGlob('{a,b}'.repeat(9), true)).not.toThrow()
  })
})

describe('ignore rules', () => {
  it('ignores exactly what git ignores', () => {
    const repository = mkdtempSync(join(tmpdir(), 'rules-'))
    spawnSync('git', ['init', '-q', repository])
    const segment = fc
      .array(fc.constantFrom('a', 'b', '*', '?', '[ab]', '[!a]'), { minLength: 1, maxLength: 3 })
      .map((bits) => bits.join('').replace(/\*+/g, '*'))
    const rule = fc
      .tuple(
        fc.constantFrom('', '', '!'),
        fc.constantFrom('', '', '/', '**/'),
        fc.array(segment, { minLength: 1, maxLength: 2 }),
        fc.constantFrom('', '', '/', '/**', ' '),
      )
      .map(([keep, lead, parts, end]) => keep + lead + parts.join('/') + end)
    const file = fc
      .array(fc.oneof({ weight: 5, arbitrary: rule }, fc.constantFrom('# a', '', '\\#a')), {
        minLength: 1,
        maxLength: 4,
      })
      .map((lines) => lines.join('\n'))
    const paths = ['a', 'b', 'ab', 'ba', 'aa', 'bab'].flatMap((first) => [
      first,
      `${first}/a`,
      `${first}/ab`,
      `${first}/b/a`,
    ])
    let ignored = 0
    fc.assert(
      fc.property(file, (text) => {
        writeFileSync(join(repository, '.gitignore'), text)
        const said = spawnSync('git', ['check-ignore', '--no-index', '--stdin'], {
          cwd: repository,
          input: paths.join('\n'),
          encoding: 'utf8',
        })
          .stdout.split('\n')
          .filter(Boolean)
        const rules = parseIgnoreRules(text)
        // Files in an ignored folder cannot be included again.
        const ours = paths.filter((path) =>
          path
            .split('/')
            .some(
              (name, index, names) =>
                rules(names.slice(0, index + 1).join('/'), name, index < names.length - 1) === 'ignore',
            ),
        )
        ignored += said.length
        expect([text, ours]).toEqual([text, said])
      }),
      { numRuns: runs(rounds(60, 150)) },
    )
    expect(ignored).toBeGreaterThan(runs(rounds(40, 100)))
  })
})
