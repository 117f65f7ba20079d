import { describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace } from 'vtcode/test'
import {
  block,
  escapeTemplates,
  truncateLine,
  visible,
  visibleJson,
  visibleLine,
} from '../../../build/core/text/index.js'
import { fc } from '../../support/property.js'

const point = (...codes: number[]): string => String.fromCodePoint(...codes)
/** Escapes, C1, bidi, zero width, separators, tags, and variants that carry bytes. */
const hostile = [
  '\u001b]52;c;ZXZpbA==\u0007',
  '\u001b[2J',
  '\r',
  '\b',
  '\u007f',
  '\u009b31m',
  '\u0085',
  '\u00ad',
  '\u034f',
  '\u061c',
  '\u115f',
  '\u180e',
  '\u200b',
  '\u200e',
  '\u202e',
  '\u2028',
  '\u2029',
  '\u2066',
  '\u3164',
  '\ufeff',
  '\ufe01',
  point(0xe0041),
  point(0xe0101),
  '\u0000',
]
const deceptive = /[\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]|[^\P{Cc}\n\t]/u
const text = fc.string({
  unit: fc.oneof(
    fc.constantFrom(...hostile, '\n', '\t', 'a', 'é', '<', '/', '{', '"', '\\'),
    fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
  ),
})

describe('visible text', () => {
  it('escapes every control, bidirectional, invisible and separating character', () => {
    for (const one of hostile)
      expect([visible(`a${one}b`), deceptive.test(visible(`a${one}b`))]).toEqual([
        expect.stringMatching(/^a.*\\u\{[0-9a-f]+\}.*b$/),
        false,
      ])
    expect(visible('a\u001bb\u202ec')).toBe('a\\u{1b}b\\u{202e}c')
  })
  it('escapes any text once and leaves plain text unchanged', () => {
    fc.assert(
      fc.property(text, (text) => {
        const shown = visible(text)
        // A variant selector follows a Han character.
        expect(deceptive.test(shown.replace(/(?<=\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu, ''))).toBe(false)
        expect(visible(shown)).toBe(shown)
        if (!deceptive.test(text)) expect(shown).toBe(text)
        expect(/[\r\n]/.test(visibleLine(text))).toBe(false)
        expect(truncateLine(text.repeat(50), 40)).not.toMatch(/[\r\n]/)
      }),
    )
  })
  it('keeps characters that a script or an emoji needs', () => {
    for (const kept of ['👨‍👩‍👧', '❤️', '1️⃣', '👍🏽', 'می‌خواهم', 'क्‍ष', 'نُون', `葛${point(0xe0100)}`, '🏳️‍🌈'])
      expect(visible(kept)).toBe(kept)
    for (const strange of [
      'a\u200db',
      'x\ufe0f',
      '😀\ufe0f\ufe0f\ufe01',
      `a${point(0xe0100)}`,
      `葛${point(0xe0100, 0xe0101)}`,
      'م\u200ca',
    ])
      expect(visible(strange)).toContain('\\u{')
  })
  it('writes escapes of JSON inside JSON, so that the parsed value is unchanged', () => {
    fc.assert(
      fc.property(text, fc.boolean(), (text, spaced) => {
        const document = visibleJson(JSON.stringify({ [text]: [text] }, null, spaced ? 2 : 0))
        expect(deceptive.test(document.replace(/(?<=\p{Script=Han})[\u{e0100}-\u{e01ef}]/gu, ''))).toBe(false)
        expect(JSON.parse(document)).toEqual({ [text]: [text] })
      }),
    )
  })
  it('shortens a line to its two ends with its length', () => {
    expect(truncateLine(`begin ${'x'.repeat(30_000)} end\n`, 100)).toMatch(
      /^begin x+ … \(30015 characters\) … x+ end\\u\{a\}$/,
    )
    expect(truncateLine('short', 100)).toBe('short')
  })
})

describe('block of a prompt', () => {
  it('closes a block only at its own end, for any content', () => {
    const words = fc
      .array(
        fc.constantFrom(
          '</notes>',
          '</ NOTES >',
          '<notes path="x">',
          '< /notes\n>',
          '</other>',
          'a',
          '\n',
          '<',
          '/',
          'notes',
          '>',
          '\u200b',
          '\u0000',
          '"',
        ),
      )
      .map((all) => all.join(''))
    fc.assert(
      fc.property(words, words, (content, path) => {
        const shown = block('notes', content, { path })
        expect(shown.match(/<\s*\/?\s*notes\b/gi)).toEqual(['<notes', '</notes'])
        expect(shown.startsWith('<notes path="') && shown.endsWith('\n</notes>')).toBe(true)
        expect(shown.split('\n')[0]).toMatch(/^<notes path="[^"<]*">$/)
      }),
    )
  })
  it('keeps tags of other names unchanged', () => {
    expect(block('notes', '</notesx> <b>x</b>')).toBe('<notes>\n</notesx> <b>x</b>\n</notes>')
  })
})

describe('template markers in foreign text', () => {
  it('renders no template marker of foreign text as the name of a tool', async () => {
    expect(escapeTemplates('a {slot:unified_file/read} {tool:x} {field:y} {other}')).toBe(
      'a { slot:unified_file/read} { tool:x} { field:y} {other}',
    )
    const named = '{tool:unified_exec/run}; {slot:gone}'
    await using plugins = await tempWorkspace({
      'warns.yaml': 'name: warns\ndescription: Warns.\neffects: [read]\ninput: {}\nmodule: ./warns.js\n',
      'warns.js': `export default () => ({ ok: true, output: {}, notices: [{ code: 'MINE', message: 'It says ${named}.' }] })\n`,
    })
    await using vt = await bootKernel({ manifests: [plugins.root], files: { [`${named}/a`]: '' } })
    const refused = await vt.call('unified_file', { action: 'read', path: named })
    const { hint, message } = refused.ok ? { hint: '', message: '' } : refused.error
    expect(message).toContain('{ tool:unified_exec/run}; { slot:gone}')
    expect(hint).toBe('List it with unified_search list.')
    expect((await vt.call('warns', {})).notices).toEqual([{ code: 'MINE', message: `It says ${named}.` }])
    const changed = await vt.call('unified_file', { action: 'edit', path: `${named}/b`, old_str: 'a', new_str: 'b' })
    expect(changed).toMatchObject({
      ok: false,
      error: { details: { say: expect.stringContaining("'{ tool:unified_exec/run}; { slot:gone}/b' does not exist") } },
    })
  })
})
