import { describe, expect, it } from 'vitest'
import { parseCommand, parseSkill } from '../../../build/core/skills/index.js'
import { fc, runs } from '../../support/property.js'

describe('parseSkill', () => {
  it('parses any bytes without a throw into a usable skill or an error', () => {
    const part = fc.oneof(
      fc
        .constantFrom(
          '---\n',
          'name: demo\n',
          'description: d\n',
          'metadata:\n  a: b\n',
          '\ufeff',
          '\r\n',
          'text\n',
          ': \n',
          '{\n',
          '&a\n',
          '*a\n',
          'description: [\n',
        )
        .map((text) => Buffer.from(text)),
      fc.uint8Array({ maxLength: 4 }).map((bytes) => Buffer.from(bytes)),
    )
    fc.assert(
      fc.property(
        fc.array(part, { maxLength: 8 }).map((parts) => Buffer.concat(parts)),
        fc.boolean(),
        (bytes, command) => {
          const { skill, diagnostics } = command
            ? parseCommand(bytes, '/c/demo.md', 'demo')
            : parseSkill(bytes, '/s/demo/SKILL.md')
          expect(skill === undefined).toBe(diagnostics.some(({ severity }) => severity === 'error'))
          if (skill) expect([skill.name, skill.description.trim() === '']).toEqual(['demo', false])
          expect(diagnostics.flatMap(({ files }) => files).filter((place) => !/\.md:[1-9]\d*$/.test(place))).toEqual([])
        },
      ),
      { numRuns: runs(500) },
    )
  })
  it('requires a visible description', () => {
    const read = (description: string) =>
      parseSkill(Buffer.from(`---\nname: demo\ndescription: "${description}"\n---\n`), '/s/demo/SKILL.md').skill
        ?.description
    expect([read('\\u200b\\u200e'), read('\\u200bDo it.')]).toEqual([undefined, 'Do it.'])
  })
  it("takes the folder's name over a wrong one and refuses names that lead elsewhere", () => {
    const named = (name: string) =>
      parseSkill(Buffer.from(`---\nname: ${JSON.stringify(name)}\ndescription: d\n---\nBody.`), '/s/demo/SKILL.md')
        .skill?.name
    // A slip of the pen is set right by the folder; what could lead elsewhere is refused.
    expect(['', 'other', 'Demo', 'de mo', 'demo-', 'demo '].map(named)).toEqual(Array(6).fill('demo'))
    expect(['../x', '/etc', 'a/b', 'a\\b', '..', 'de\u200bmo', 'demo\u0000'].map(named)).toEqual(
      Array(7).fill(undefined),
    )
  })
})

it('describes a command of another program by its first line, unless it has a description', () => {
  const read = (text: string) => parseCommand(Buffer.from(text), '/c/demo.md', 'demo')
  expect([
    read('# Do it\n\nNow.').skill?.description,
    read('---\ndescription: d\n---\nDo it.').skill?.description,
    read('---\ndescription: d\n---\nDo it.').body,
  ]).toEqual(['Do it', 'd', 'Do it.'])
  expect(read('').skill).toBeUndefined()
})
