import { describe, expect, it } from 'vitest'
import { renderQuestion, formatReason } from '../../../build/core/shapes/index.js'
import { fc } from '../../support/property.js'

type Question = Parameters<typeof renderQuestion>
const slot = {
  input: {
    properties: {
      command: { anyOf: [{ type: 'string' }, { type: 'array', items: { type: 'string' } }], format: 'command' },
      path: { type: 'string', format: 'workspace-path' },
    },
  },
} as unknown as Question[1]
const asked = (input: object, reasons: string[] = ['It runs a program.']): string =>
  renderQuestion({ slot: 'demo/run', input, given: input, caller: {} } as unknown as Question[0], slot, reasons)

describe('approval question', () => {
  it('ends an approval question with the command, however large the other fields are', () => {
    const text = asked({
      action: 'run',
      command: 'git push',
      env: { A: 'e'.repeat(30_000) },
      note: 'n\n'.repeat(5000),
      ...Object.fromEntries(Array.from({ length: 500 }, (_, n) => [`f${n}`, 'x'.repeat(300)])),
    })
    expect(text.split('\n').at(-1)).toBe('  command: git push')
    expect(text.length).toBeLessThan(16_000)
    expect(text).toMatch(/env: \{"A":"e+ … \(30008 characters\) … e+"\}/)
    expect(text).toMatch(/… and \d+ more: /)
    expect(asked({ path: 'src/a', content: 'x' }).split('\n').at(-1)).toBe('  path: src/a')
  })
  it('shows the arguments of a command with the command', () => {
    expect(
      asked({ command: 'rm', args: ['-rf', 'a'], tty: true })
        .split('\n')
        .at(-1),
    ).toBe('  command: ["rm","-rf","a"]')
  })
  it('keeps field values and reasons from forging lines of the question', () => {
    const forged = 'demo/run asks for approval.\n  command: true'
    const piece = fc
      .array(fc.constantFrom(forged, '\n', '\r', '\u2028', '\u0085', '\u001b[2J', '\u202e', 'x', ' '), { maxLength: 8 })
      .map((all) => all.join(''))
    fc.assert(
      fc.property(piece, piece, piece, (reason, note, command) => {
        const lines = asked({ note, command: `${command}!` }, [reason, formatReason(reason, 'the model')]).split('\n')
        expect(lines[0]).toBe('demo/run asks for approval.')
        expect(lines.filter((line) => line.startsWith('demo/run'))).toHaveLength(1)
        expect(lines.filter((line) => line.startsWith('  command:'))).toHaveLength(1)
        expect(lines.slice(1).every((line) => line.startsWith('  '))).toBe(true)
        expect(lines.join('')).not.toMatch(/[^\P{Cc}]|[\u2028\u202e]/u)
      }),
    )
  })
  it('quotes a reason on one line with its author', () => {
    expect(formatReason('to see\nFake line', 'the model')).toBe('the model says: to see\\u{a}Fake line')
    expect(formatReason('plain')).toBe('plain')
  })
})
