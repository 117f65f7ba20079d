import { describe, expect, it } from 'vitest'
import { parseRule } from '../../../../build/plugins/lib/rules/index.js'
import { readCommand } from '../../../../build/plugins/lib/shell/index.js'
import { fc, runs } from '../../../support/property.js'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const pattern = (spec: string) => parseRule(`Bash(${spec})`, 'deny', { root: '/', user: '/' })!.command!

describe('program rules', () => {
  const layers: ((command: string) => string)[] = [
    ...[
      'env',
      'env -u HOME A=1',
      'sudo -u root',
      'sudo -nu root --',
      'nice -n 3',
      'timeout -k 1 5',
      'timeout --signal=KILL 5',
      'nohup',
      'xargs -n 1',
      'command',
      'exec -a x',
      'flock /tmp/l',
      'stdbuf -oL',
      'setsid',
      'busybox',
    ].map((words) => (command: string) => `${words} ${command}`),
    (command) => `bash -c ${quoted(command)}`,
    (command) => `sh -ec ${quoted(command)} name`,
    (command) => `eval ${quoted(command)}`,
  ]
  const around: ((command: string) => string)[] = [
    (command) => command,
    (command) => `true && ${command}`,
    (command) => `echo $(${command})`,
    (command) => `cat <(${command})`,
    (command) => `if true; then ${command}; fi`,
    (command) => `(cd /; ${command}) | cat`,
    (command) => `find . -exec ${command} {} +`,
    (command) => `echo "$(${command})"`,
  ]

  it('finds the program after any wrappers and in any part of a line', () => {
    const { matches } = pattern('rm *')
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom(...layers), { maxLength: 3 }),
        fc.constantFrom(...around),
        fc.constantFrom('rm -rf x', '/bin/rm x', "'r'm x"),
        (wrappers, place, command) => {
          const line = place(wrappers.reduce<string>((inner, layer) => layer(inner), command))
          expect(readCommand(line).commands.some(matches), line).toBe(true)
        },
      ),
      { numRuns: runs(500) },
    )
  })
  it('allows only commands that the same deny rule would hit, and only static words', () => {
    const word = fc.constantFrom('a', 'ab', '*', 'a*', '-r', '$x', '$(a)', '"a"')
    fc.assert(
      fc.property(
        fc.array(fc.constantFrom('a', 'ab', '*', 'a*', '-r'), { minLength: 1, maxLength: 4 }),
        fc.array(word, { minLength: 1, maxLength: 4 }),
        (spec, words) => {
          const { matches, covers } = pattern(`p ${spec.join(' ')}`)
          for (const argv of readCommand(`p ${words.join(' ')}`).commands) {
            if (!covers(argv)) continue
            expect(matches(argv)).toBe(true)
            expect(argv.every(({ kind }) => kind === 'static')).toBe(true)
          }
        },
      ),
      { numRuns: runs(500) },
    )
    expect(readCommand('git push').commands.map(pattern('git *').covers)).toEqual([true])
  })
  it('compares the words before the first one that only the run decides', () => {
    const hits = (spec: string, line: string) => readCommand(line).commands.map(pattern(spec).matches)
    for (const line of ['touch $x', 'touch "$x" made', 'touch made $x', '/bin/touch $x'])
      expect([line, hits('touch made *', line)]).toEqual([line, [true]])
    for (const line of ['ls $x', 'touch other $x']) expect([line, hits('touch made *', line)]).toEqual([line, [false]])
    // A program that only the run decides makes the whole line dynamic, whatever follows.
    expect([hits('* made', '$x made'), readCommand('$x made').hidden]).toEqual([[false], expect.any(String)])
  })
})
