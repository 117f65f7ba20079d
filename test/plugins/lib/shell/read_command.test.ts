import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { readCommand } from '../../../../build/plugins/lib/shell/index.js'
import { fc, runs } from '../../../support/property.js'

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`
const texts = (command: string | string[]) => readCommand(command).commands.map((argv) => argv.map(({ text }) => text))

const bits = [
  'git',
  'rm',
  'env',
  'bash -c',
  'sudo -u',
  'xargs',
  'find',
  '-exec',
  'eval',
  'x=1',
  '$x',
  '${x:-y}',
  '$(',
  ')',
  '`',
  '((',
  '))',
  '[[',
  ']]',
  '{',
  '}',
  '<(',
  '<<E',
  '\nE\n',
  '<',
  '>',
  '>>',
  '2>&1',
  '|',
  '||',
  '&&',
  '&',
  ';',
  ';;',
  'case',
  'in',
  'esac',
  'if',
  'then',
  'fi',
  'for',
  'do',
  'done',
  '!',
  "'",
  '"',
  "$'",
  '\\',
  '\n',
  '#',
  '~',
  '*',
  '?',
  '[a-',
  'é',
  '\u200b',
  '\u0000',
  '；',
]
const script = fc
  .array(fc.constantFrom(...bits), { maxLength: 14 })
  .chain((parts) => fc.constantFrom('', ' ').map((space) => parts.join(space)))

describe('readCommand', () => {
  it('reads any line without throwing, and every command in it has a program', () => {
    fc.assert(
      fc.property(script, (text) => {
        for (const argv of readCommand(text).commands) expect(argv.length).toBeGreaterThan(0)
      }),
      { numRuns: runs(1000) },
    )
  })
  it('splits words as bash does wherever it calls them static', () => {
    const word = fc
      .array(
        fc.constantFrom(
          'a',
          'b',
          '-',
          "'",
          '"',
          '\\',
          ' ',
          "'a b'",
          '"a b"',
          '\\ ',
          "\\'",
          '\\"',
          '$',
          '{',
          '}',
          ',',
          '#',
          '=',
          '~',
          "$'a'",
        ),
        { maxLength: 10 },
      )
      .map((parts) => parts.join(''))
    let compared = 0
    fc.assert(
      fc.property(word, (words) => {
        const { commands, dynamic } = readCommand(`printf '%s\\0' end ${words}`)
        const [argv] = commands
        if (dynamic !== undefined || commands.length !== 1 || !argv!.every(({ kind }) => kind === 'static')) return
        compared += 1
        const said = execFileSync('bash', ['-c', `printf '%s\\0' end ${words}`], { encoding: 'utf8' })
        expect(argv!.slice(2).map(({ text }) => text)).toEqual(said.split('\0').slice(0, -1))
      }),
      { numRuns: runs(200) },
    )
    expect(compared).toBeGreaterThan(runs(20))
  })
  it('marks words as dynamic when bash inserts the home or makes several of them', () => {
    const kinds = (word: string) => readCommand(`dd ${word}`).commands.map((argv) => argv[1]!.kind)
    for (const word of ['~', 'if=~/x', 'if+=~', 'path=a:~/x', 'a{},}', '{a},}', '{a}..b}'])
      expect(kinds(word), word).toEqual(['dynamic'])
    for (const word of ["'~'", "if='~/x'", 'if=\\~/x', 'a~', 'a:~', '{}', 'HEAD@{1}', "'{a,b}'", '\\{a,b}'])
      expect(kinds(word), word).toEqual(['static'])
  })
  it('reads quoted words and a list of words as those words', () => {
    const plain = fc.string({
      unit: fc.constantFrom('a', ' ', '"', "'", '$', '`', '\\', '*', '|', ';', '~', '\n'),
      maxLength: 8,
    })
    fc.assert(
      fc.property(fc.array(plain, { maxLength: 4 }), (words) => {
        const wanted = [['program', ...words]]
        expect(texts(['program', ...words])).toEqual(wanted)
        const line = readCommand(['program', ...words.map(quoted)].join(' '))
        expect([line.commands.map((argv) => argv.map(({ text }) => text)), line.dynamic]).toEqual([wanted, undefined])
        expect(line.commands[0]!.every(({ kind }) => kind === 'static')).toBe(true)
      }),
    )
  })
  it('lists the program in the value of each variable that other programs run', () => {
    const names = [
      'PROMPT_COMMAND',
      'PAGER',
      'GIT_EDITOR',
      'VISUAL',
      'SSH_ASKPASS',
      'BROWSER',
      'GIT_SSH',
      'GIT_SSH_COMMAND',
      'GIT_EXTERNAL_DIFF',
      'GIT_PROXY_COMMAND',
      'GIT_CONFIG_VALUE_12',
      'FCEDIT',
      'RSYNC_RSH',
    ]
    for (const name of names)
      for (const other of ['', 'X', '_'])
        expect([name + other, texts(`${name}${other}='touch made' true`)]).toEqual([
          name + other,
          other === '' ? [['true'], ['touch', 'made']] : [['true']],
        ])
  })
  it('passes known input to the first program of a pipeline only', () => {
    const read = (line: string) => {
      const { commands, hidden } = readCommand(line, { stdin: 'touch made' })
      return [commands.map((argv) => argv.map(({ text }) => text).join(' ')), hidden !== undefined]
    }
    expect(read('sh | cat')).toEqual([['sh', 'touch made', 'cat'], false])
    expect(read('cat | sh')).toEqual([['cat', 'sh'], true])
  })
  it('lists each command that find starts, up to its own end', () => {
    for (const end of ['+', '\\;'])
      expect(texts(`find . -exec echo {} ${end} -exec touch made ${end}`).slice(1)).toEqual([
        ['echo', '{}'],
        ['touch', 'made'],
      ])
  })
  it('hides a line that expands the value of a variable', () => {
    for (const [word, reason] of [
      ['${!x}', 'it expands the value of a variable'],
      ['${x@P}', 'it expands the value of a variable'],
      ['$x', undefined],
      ['${x}', undefined],
    ])
      expect([word, readCommand(`echo ${word}`).hidden]).toEqual([word, reason])
  })
})
