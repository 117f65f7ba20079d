import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { CommandLineError, readCommandLine } from '../../../build/core/cli/index.js'
import { fc } from '../../support/property.js'

describe('readCommandLine', () => {
  const flags = fc.constantFrom<[words: string[], option: object]>(
    [['--mode', 'plan'], { options: { mode: 'plan' } }],
    [['--home=/h'], { options: { home: '/h' }, env: { HOME: '/h' } }],
    [['--dialect', 'a,b'], { options: { dialects: ['a', 'b'] } }],
    [['--quiet'], { quiet: true }],
    [['--no-color'], { env: { NO_COLOR: '1' } }],
  )

  it('accepts global flags anywhere before the input and leaves all other words to the verb, in order', () => {
    const word = fc.constantFrom('a', '-x', '--other', '--other=1', 'mode', '-')
    fc.assert(
      fc.property(fc.array(word, { maxLength: 5 }), flags, fc.nat({ max: 6 }), (rest, [words, said], at) => {
        const place = at % (rest.length + 2)
        const argv = ['verb', ...rest]
        argv.splice(place, 0, ...words)
        expect(readCommandLine(argv)).toMatchObject({ verb: 'verb', rest, ...said })
      }),
    )
  })
  it('stops reading flags after the tool of a call and after two dashes', () => {
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('--mode', '--quiet', '--home=/x', '--', 'a'), { maxLength: 5 }),
        flags,
        (input, [words, said]) => {
          expect(readCommandLine([...words, 'call', 'tool', ...input])).toMatchObject({
            verb: 'call',
            rest: ['tool', ...input],
            ...said,
          })
          expect(readCommandLine([...words, 'verb', '--', ...input])).toMatchObject({
            verb: 'verb',
            rest: ['--', ...input],
            ...said,
          })
        },
      ),
    )
    expect(readCommandLine(['call', '--session', 'ses_1', '--quiet', 'tool', '--quiet'])).toMatchObject({
      quiet: true,
      rest: ['--session', 'ses_1', 'tool', '--quiet'],
    })
  })
  it('throws a CommandLineError for flags with missing or invalid values', () => {
    for (const argv of [
      ['--mode'],
      ['--mode='],
      ['--mode', 'bold'],
      ['--log-level', 'loud'],
      ['--workspace', join(tmpdir(), 'nothing-here')],
      ['--allowed-tools', ' , '],
      ['--allowed-tools', 'Bash(x)'],
      ['--disallowed-tools', 'a b'],
    ]) {
      expect(() => readCommandLine(argv), argv.join(' ')).toThrow(CommandLineError)
    }
  })
  it('turns disallowed tools into rights, and a rule about some calls of a tool into a deny rule', () => {
    const { only, config } = readCommandLine([
      '--disallowed-tools',
      'Bash(a, b),Read,x',
      'exec',
      '--allowed-tools=y, z',
      '--allowed-tools',
      'z',
    ]).options
    expect(only).toEqual([{ tools: ['Except(Read, x)'] }, { tools: ['y', 'z'] }, { tools: ['z'] }])
    expect(config).toMatchObject([{ policy: { deny: [{ rule: 'Bash(a, b)' }] } }])
    expect(readCommandLine(['--disallowed-tools', 'x']).options).toEqual({ only: [{ tools: ['Except(x)'] }] })
  })
})
