import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { validateSkill } from '../../../../build/plugins/lib/skills/index.js'
import { fc, runs } from '../../../support/property.js'

const place = mkdtempSync(join(tmpdir(), 'skills-'))
const verdict = (text: string | Buffer, folder = 'demo') => {
  const path = join(place, folder)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'SKILL.md'), text)
  return validateSkill(path)
}
const says = (text: string, folder?: string) => verdict(text, folder).complaints.map(({ message }) => message)

describe('skill validation', () => {
  it('returns a verdict with existing lines for any text, and no complaint for a valid one', () => {
    const bits = fc.constantFrom(
      '---',
      '\n',
      'name: demo',
      'description: x',
      'description: ',
      ': ',
      '- ',
      '{',
      '}',
      '&a',
      '*a',
      '!t ',
      '"',
      "'",
      '|',
      '>',
      '#',
      '\t',
      '  ',
      'metadata:',
      'é',
      '\u0000',
      '\ufeff',
      '? ',
      '%',
      '@',
    )
    fc.assert(
      fc.property(fc.array(bits, { maxLength: 14 }), fc.boolean(), (parts, framed) => {
        const text = framed ? `---\nname: demo\n${parts.join('')}\n---\n` : parts.join('')
        const { complaints, properties } = verdict(text)
        expect(properties === undefined).toBe(complaints.length > 0)
        for (const { line = 1 } of complaints) expect(line >= 1 && line <= text.split('\n').length).toBe(true)
        if (properties) expect(properties).toMatchObject({ name: 'demo', description: expect.stringMatching(/\S/) })
      }),
      { numRuns: runs(500) },
    )
  })
  it('accepts names of the open format only', () => {
    const name = fc.string({
      unit: fc.constantFrom('a', 'z', '0', '-', 'A', '_', 'é', '.', ' '),
      minLength: 1,
      maxLength: 5,
    })
    fc.assert(
      fc.property(
        name.filter((text) => !/^\s|\s$|^\.+$/.test(text)),
        (name) => {
          const valid = /^[a-z0-9é]+(-[a-z0-9é]+)*$/.test(name)
          expect([name, says(`---\nname: "${name}"\ndescription: x\n---\n`, name).length === 0]).toEqual([name, valid])
        },
      ),
    )
    expect(says('---\nname: other\ndescription: x\n---\n')).toEqual([
      "Directory name 'demo' must match skill name 'other'",
    ])
    const long = 'a'.repeat(65)
    expect([
      says(`---\nname: ${long}\ndescription: x\n---\n`, long),
      says(`---\nname: ${long.slice(1)}\ndescription: x\n---\n`, long.slice(1)),
    ]).toEqual([[`Skill name '${long}' exceeds 64 character limit (65 chars)`], []])
  })
  it('reports every complaint with its line', () => {
    const text = `---\nname: Demo\nextra: 1\ndescription: ${'x'.repeat(1025)}\ncompatibility: ${'y'.repeat(501)}\n---\n`
    expect(verdict(text).complaints.map(({ line, message }) => [line, message.slice(0, 30)])).toEqual([
      [3, 'Unexpected fields in frontmatt'],
      [2, "Skill name 'Demo' must be lowe"],
      [2, "Directory name 'demo' must mat"],
      [4, 'Description exceeds 1024 chara'],
      [5, 'Compatibility exceeds 500 char'],
    ])
    expect([says('name: demo'), says('---\nname: demo'), says('---\n- a\n---\n')].flat()).toEqual([
      'SKILL.md must start with YAML frontmatter (---)',
      'SKILL.md frontmatter not properly closed with ---',
      'SKILL.md frontmatter must be a YAML mapping',
    ])
    expect(verdict(Buffer.from([0x2d, 0x2d, 0x2d, 0xff])).complaints).toEqual([{ message: 'SKILL.md is not UTF-8' }])
    expect(validateSkill(join(place, 'none')).complaints[0]!.message).toContain('Path does not exist')
  })
})
