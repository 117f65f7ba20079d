import { chmod } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../../support/exec.js'
import { fc, runs } from '../../../support/property.js'

// Command lines of every kind hide a program on PATH that writes a marker when it runs. The marker is the oracle,
// not the verdict: refused lines must not have run the program, and no line may run it.
let programs: TempWorkspace
let booted: Booted
let path: string | undefined
const marker = (): Promise<string | undefined> => programs.read('marker')
beforeAll(async () => {
  programs = await tempWorkspace({})
  await programs.write('bcmd', `#!/bin/sh\necho ran >> '${programs.root}/marker'\n`)
  await chmod(join(programs.root, 'bcmd'), 0o755)
  path = process.env.PATH
  process.env.PATH = `${programs.root}:${path}`
  booted = await bootKernel({
    mode: 'auto',
    env: { PATH: process.env.PATH },
    config: { sandbox: { mode: 'off' }, policy: { allow: ['Bash(touch *)', 'Bash(env true)'] } },
    files: { 'a.txt': 'bcmd\n', 'b.sh': 'bcmd\n' },
  })
})
afterAll(async () => {
  process.env.PATH = path
  await booted[Symbol.asyncDispose]()
  await programs[Symbol.asyncDispose]()
})
const run = (command: string): ReturnType<Booted['call']> =>
  booted.call('unified_exec', { action: 'run', command, timeout_secs: 5 })

const program = fc.constantFrom(
  'bcmd',
  "b''cmd",
  '"bcmd"',
  "'bcmd'",
  'b\\cmd',
  "$'bcmd'",
  "$'\\142cmd'",
  '$"bcmd"',
  'bcmd -x',
  'bcmd "a b"',
  '${X:-bcmd}',
  '${X-bcmd}',
  '$(echo bcmd)',
  '`echo bcmd`',
  'b${X}cmd',
  '{bcmd,}',
  'bcmd\\\n',
)
const wrapper = fc.constantFrom(
  '',
  '',
  'env ',
  'env -i PATH="$PATH" ',
  'env A=1 ',
  'nohup ',
  'timeout 5 ',
  'timeout -k 1 5 ',
  'sudo -n ',
  'doas ',
  'nice -n 1 ',
  'ionice -c 3 ',
  'setsid ',
  'stdbuf -oL ',
  'command ',
  'builtin ',
  'exec ',
  'time ',
  'time -p ',
  '! ',
  'coproc ',
  'xargs -0 ',
  'xargs -I{} ',
  'echo a | xargs ',
  'find a.txt -exec ',
  'find a.txt -execdir ',
  'find a.txt -ok ',
  'flock a.txt ',
  'watch -n 9 ',
  'busybox ',
  'A=1 ',
  'LC_ALL=C ',
  'eval ',
  'trap ',
  'sh -c ',
  'bash -ec ',
  'xargs sh -c ',
  '. ',
  'source ',
)
const around = fc.constantFrom<(text: string) => string>(
  (text) => text,
  (text) => `ls; ${text}`,
  (text) => `ls;${text};`,
  (text) => `${text} && ls`,
  (text) => `true && ${text}`,
  (text) => `false || ${text}`,
  (text) => `ls | ${text}`,
  (text) => `ls |& ${text}`,
  (text) => `${text} &`,
  (text) => `ls\n${text}`,
  (text) => `# x\n${text}`,
  (text) => `( ${text} )`,
  (text) => `{ ${text}; }`,
  (text) => `echo $( ${text} )`,
  (text) => `echo "$( ${text} )"`,
  (text) => `echo \`${text.replaceAll('`', '')}\``,
  (text) => `cat <( ${text} )`,
  (text) => `ls > >( ${text} )`,
  (text) => `echo \${Y:-$( ${text} )}`,
  (text) => `echo $(( $( ${text} ) ))`,
  (text) => `[[ $( ${text} ) ]]`,
  (text) => `test -v "a[$( ${text} )]"`,
  (text) => `if true; then ${text}; fi`,
  (text) => `if ${text}; then ls; fi`,
  (text) => `until ${text}; do break; done`,
  (text) => `for i in 1; do ${text}; done`,
  (text) => `for i in $( ${text} ); do ls; done`,
  (text) => `case x in x) ${text};; esac`,
  (text) => `X=$( ${text} ) ls`,
  (text) => `cat <<E\n$( ${text} )\nE`,
  (text) => `cat <<< $( ${text} )`,
  (text) => `f() { ${text}; }; f`,
  (text) => `touch x "$( ${text} )"`,
  (text) => `env true; ${text}`,
  (text) => `select x in a; do ${text}; break; done <<< 1`,
)

describe('hidden programs without a rule', () => {
  it('writes the marker when the program runs', async () => {
    await using open = await bootKernel({
      mode: 'auto',
      env: { PATH: process.env.PATH! },
      config: { sandbox: { mode: 'off' }, policy: { allow: ['Bash(bcmd *)'] } },
    })
    expect((await open.call('unified_exec', { action: 'run', command: 'bcmd' })).ok).toBe(true)
    expect(await marker()).toBe('ran\n')
    await programs.write('marker', '')
  })

  it('runs the program in no composition of quoting, wrapper, separator and substitution', async () => {
    const line = fc.tuple(wrapper, wrapper, program, fc.array(around, { maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(line, async ([outer, inner, name, layers]) => {
        const command = layers.reduce((text, wrap) => wrap(text), outer + inner + name)
        const result = await run(command)
        expect([command, result.ok, await marker()]).toEqual([command, false, ''])
      }),
      { numRuns: runs(rounds(250, 600)) },
    )
  }, 600_000)

  it('runs the program from no file, by no other file name and by no allowed interpreter', async () => {
    const lines = [
      'sh b.sh',
      'bash < b.sh',
      'cat b.sh | sh',
      '. ./b.sh',
      'echo YmNtZA== | base64 -d | sh',
      'awk \'BEGIN{system("bcmd")}\'',
      'perl -e \'system "bcmd"\'',
      'python3 -c "import os; os.system(\'bcmd\')"',
      'xargs -a a.txt env',
      'env $(cat a.txt)',
      'env "$(cat a.txt)"',
      "env -S 'bcmd x'",
      'touch x; bcmd',
      'touch x | bcmd',
      'touch $(bcmd)',
      'cat <<E\n$( ls |& ! bcmd )\nE',
      'env true && bcmd',
      "sed -n '1e bcmd' a.txt",
      'PROMPT_COMMAND=bcmd bash -i',
      'ls -la;bcmd',
      'git -c core.pager=bcmd -p log',
      'tar cf x a.txt --checkpoint-action=exec=bcmd --checkpoint=1',
    ]
    for (const command of lines)
      expect([command, (await run(command)).ok, await marker()]).toEqual([command, false, ''])
  })
})
