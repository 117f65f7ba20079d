import { chmod, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { Config, Mode, Result } from 'vtcode'
import { fc, runs } from '../../../support/property.js'

// In these command lines `bcmd` is a program without a rule and `ok` a program that a rule allows.
let plugins: TempWorkspace
const booted = new Map<string, Booted>()
beforeAll(async () => {
  plugins = await tempWorkspace({
    'run.yaml':
      'action: demo/run\neffects: [exec]\ndescription: Does nothing.\nmodule: ./run.js\ninput: { properties: { command: { anyOf: [{ type: string }, { type: array, items: { type: string } }], format: command }, workdir: { type: string } } }\n',
    'run.js': 'export default () => ({ ok: true, output: {} })\n',
  })
})
afterAll(async () => {
  for (const one of booted.values()) await one[Symbol.asyncDispose]()
  await plugins[Symbol.asyncDispose]()
})

const rules = {
  deny: ['Bash(bcmd *)', 'Bash(rm -rf *)'],
  ask: ['Bash(git push *)'],
  allow: ['Bash(make test *)', 'Bash(git log *)', 'Bash(git status)'],
}
async function judge(
  command: string | string[],
  mode: Mode = 'auto',
  policy: Config['policy'] = rules,
): Promise<string> {
  const key = mode + JSON.stringify(policy)
  const made =
    booted.get(key) ??
    (await bootKernel({
      mode,
      // Without duplicate_calls the policy judges every call again.
      config: {
        policy: policy!,
        automation: { full_auto: { enabled: true, allowed_tools: [] } },
        manifests: ['!builtin:repeats'],
      },
      manifests: [plugins.root],
      files: { 'a.txt': '', 'src/b.ts': '' },
    }))
  if (!booted.has(key)) await symlink('/etc', join(made.root, 'src/outside'))
  booted.set(key, made)
  const result = await made.call('demo', { action: 'run', command })
  if (result.ok) return 'run'
  return { VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code
}

describe('read-only commands', () => {
  const harmless = [
    'ls',
    'ls -la src',
    'ls src/*.ts',
    'pwd',
    'cat a.txt',
    'cat ./a.txt src/b.ts',
    'head -20 a.txt',
    'head -n 20 a.txt',
    'tail -n +5 a.txt',
    'wc -l a.txt',
    'stat -c %s a.txt',
    'file a.txt',
    'du -sh src',
    'date +%F',
    'uname -a',
    'whoami',
    'echo hello world',
    "echo 'rm -rf /'",
    'printf "%s\\n" x',
    "printf '%-8s|%5.2f|%03d|%*s|%%\\n' a 1 2 9 b",
    'printf -- "%s" -n',
    'cat <<E\n${x:=1}\nE',
    'true',
    'test -f a.txt',
    '[ -d src ]',
    'ls | head -5',
    'cat a.txt && ls; pwd',
    'cat < a.txt',
    'ls 2>/dev/null',
    'ls 2>&1 | wc -l',
    'LC_ALL=C ls',
    '(ls; pwd)',
    '{ ls; }',
    'if test -f a.txt; then cat a.txt; fi',
    'for f in a b; do echo x; done',
    'cat <<EOF\nhello\nEOF',
    'sha256sum a.txt',
    'cat missing.txt',
  ]
  it.each(harmless)('runs a read-only command in plan, ask and auto: %s', async (command) => {
    for (const mode of ['plan', 'ask', 'auto'] as const)
      expect([mode, await judge(command, mode)]).toEqual([mode, 'run'])
  })

  it.each([
    ['cat ../secret', 'outside'],
    ['cat /etc/passwd', 'outside'],
    ['ls ~', 'home'],
    ['cat x=~/y', 'home after an equals sign'],
    ['cat a{},}', 'braces'],
    ['cat < /etc/passwd', 'input from outside'],
    ['cat $HOME/x', 'dynamic'],
    ['ls *', 'a glob that may be an option'],
    ['cat src/*', 'a glob over files whose content is shown'],
    ['ls src/o*', 'a glob that matches a link to the outside'],
    ['ls -y a.txt', 'an unknown option'],
    ['head -qy a.txt', 'an unknown option after a known one'],
    ['tail -f a.txt', 'never ends'],
    ['date -s 2020-01-01', 'sets the clock'],
    ['file -C -m a.txt', 'writes'],
    ['printf -v x y', 'sets a variable'],
    ["printf 'a%nb' CDPATH", 'sets a variable by its format'],
    ["printf '%*hn' 3 PATH", 'sets a variable by its format'],
    ['printf a*', 'a format that a glob names'],
    ['pwd {PATH}>/dev/null', 'sets a variable by a redirection'],
    ['for PATH in src; do ls; done', 'sets the search path by a loop'],
    ['for CDPATH in src; do cd sub; ls; done', 'sets the search path of cd by a loop'],
    ['cat <<E\n${CDPATH:=src}\nE', 'sets a variable by an expansion'],
    ['for f in ${CDPATH:=src}; do ls; done', 'sets a variable by an expansion'],
    ['case ${CDPATH=src} in *) ls;; esac', 'sets a variable by an expansion'],
    ['test -v "a[$(id)]"', 'evaluates'],
    ['[ -v a ]', 'evaluates'],
    ['[[ -f a.txt ]]', 'evaluates arithmetic'],
    ['echo $((1+1))', 'evaluates'],
    ['ls > out.txt', 'writes'],
    ['find . -name x', 'not in the set'],
    ['sed -n 1,5p a.txt', 'not in the set'],
    ['sort a.txt', 'not in the set'],
    ['git status --short', 'runs what the repository configures'],
    ['rg x', 'not in the set'],
    ['./ls', 'a program of the workspace'],
    ['/bin/ls', 'not by its bare name'],
    ['env ls', 'a wrapper'],
  ])('treats a command as not read-only: %s (%s)', async (command) => {
    expect(await judge(command, 'plan')).toBe('deny')
    expect(await judge(command, 'ask')).toBe('ask')
  })
})

describe('program without a rule', () => {
  // Spellings of the published list of hostile cases, each with the denied program somewhere inside.
  const spellings = [
    'true && bcmd',
    'true || bcmd',
    'true ; bcmd',
    'true | bcmd',
    'true & bcmd',
    'true\nbcmd',
    '# c\nbcmd',
    'true |& bcmd',
    '! bcmd',
    'time bcmd',
    'coproc bcmd',
    'echo $(bcmd)',
    'echo `bcmd`',
    'echo "$(bcmd)"',
    'echo ${X:-$(bcmd)}',
    'echo $((a[$(bcmd)]))',
    '[[ $(bcmd) ]]',
    'cat <<E\n$(bcmd)\nE',
    'cat <<< $(bcmd)',
    'cat <(bcmd)',
    'ls > >(bcmd)',
    `${'echo $('.repeat(40)}bcmd${')'.repeat(40)}`,
    'env bcmd',
    'env X=1 bcmd',
    'env -i bcmd',
    'env -u HOME bcmd',
    'command bcmd',
    'builtin bcmd',
    'exec bcmd',
    'exec -a ls bcmd',
    'nohup bcmd',
    'nice bcmd',
    'nice -n 5 bcmd',
    'ionice -c 3 bcmd',
    'setsid bcmd',
    'timeout 5 bcmd',
    'timeout -k 1 5 bcmd',
    'stdbuf -oL bcmd',
    'xargs bcmd',
    'ls | xargs -n 1 bcmd',
    'xargs -I{} bcmd {}',
    'sudo bcmd',
    'sudo -u root bcmd',
    'doas bcmd',
    'watch bcmd',
    'flock x bcmd',
    'env timeout 5 nice bcmd',
    'busybox bcmd',
    'find . -exec bcmd {} \\;',
    'find . -execdir bcmd {} +',
    'find . -ok bcmd \\;',
    "find . -exe''c bcmd \\;",
    'sh -c bcmd',
    "bash -c 'true; bcmd'",
    'bash -ec bcmd',
    "sh -c 'sh -c bcmd'",
    'eval bcmd',
    "eval 'true; bcmd'",
    'trap bcmd EXIT',
    'FOO=1 bcmd',
    'LC_ALL=C bcmd',
    '/abs/bcmd',
    './bcmd',
    '/usr/bin/bcmd',
    "b''cmd",
    'b"cm"d',
    "$'\\x62cmd'",
    'b\\cmd',
    '"bcmd"',
    'bcmd\\\n -x',
    '(bcmd)',
    '{ bcmd; }',
    'if bcmd; then ls; fi',
    'while bcmd; do ls; done',
    'for i in 1; do bcmd; done',
    'case x in x) bcmd;; esac',
    'f() { bcmd; }; f',
    'until bcmd; do :; done',
    'ls && { true; (bcmd) | cat; }',
    'select x in a; do bcmd; done',
  ]
  it.each(spellings)('denies the program in every spelling: %s', async (command) => {
    for (const mode of ['plan', 'ask', 'auto', 'full-auto'] as const)
      expect([mode, await judge(command, mode)]).toEqual([mode, 'deny'])
  })

  // The text of these lines does not determine the program, so none may run unasked.
  const hidden = [
    'X=bcmd; $X',
    '$X',
    '${X}',
    'eval $X',
    'eval${IFS}bcmd',
    'eval "$(cat a.txt)"',
    'a=(bcmd); ${a[0]}',
    'printf -v X bcmd; $X',
    'alias ls=bcmd; ls',
    'source a.txt',
    '. ./a.txt',
    '. <(echo bcmd)',
    '/usr/bin/bcm?',
    'bcm*',
    '{b,x}cmd',
    'LD_PRELOAD=x ls',
    'BASH_ENV=x ls',
    'GIT_PAGER=x git log',
    'PATH=.:$PATH ls',
    'PATH=. ls',
    'export PATH=.; ls',
    'env LD_PRELOAD=x ls',
    'env -S "b cmd"',
    'env --split-string=bcmd',
    'sed -n 1,5p -i a.txt',
    'awk \'{print > "f"}\' a.txt',
    'git logout',
    'git -c attr.tree=x status',
    'git -c core.fsmonitor=./x status',
    'git --attr-source=x status',
    'find . -delete',
    'find . -fprint out',
    'find . -exe$@c bcmd',
    "sed 's/x/bcmd/e' a.txt",
    "sed -n 'w f' a.txt",
    'awk \'BEGIN{system("bcmd")}\'',
    'perl -e 1',
    'python3 -c 1',
    'node -e 1',
    'ruby -e 1',
    'echo x > out',
    'echo x >> out',
    'echo x >| out',
    'echo x &> out',
    'echo x <> out',
    'echo x >& out',
    'echo x 3> out',
    'echo x > /dev/tcp/h/80',
    'echo x > "$F"',
    'echo YmNtZA== | base64 -d | sh',
    'cat a.txt | bash',
    'bash a.txt',
    'bash < a.txt',
    '=bcmd',
    'ls *(e:bcmd:)',
    '[[ x =~ $(id) ]]',
    'ｂcmd',
    'ls\u00a0x',
    'ls\u200b',
    'ls \u202e x',
    'bсmd',
    'ls；bcmd',
    'ls\rbcmd',
    'ls\u0000x',
    'echo \u001b[2K',
    "echo 'unterminated",
    'ls )',
    'ls &&',
    'ls $(',
    '',
    'ls() { true; }; ls',
    'function ls { true; }',
    'enable -n ls',
    'set -- x',
    'read x',
    'history -s x',
    'exec 3<>out',
    'git -c core.pager=bcmd log',
    'make',
    'make testing',
    'npm test',
    'x'.repeat(10_001),
    'true; '.repeat(1700),
  ]
  it.each(hidden.map((command) => [command.slice(0, 60), command]))(
    'asks about or denies a hidden program: %j',
    async (_, command) => {
      for (const mode of ['plan', 'ask', 'auto', 'full-auto'] as const)
        expect([mode, await judge(command, mode)]).not.toEqual([mode, 'run'])
    },
  )

  it.each([
    ['bcmd'],
    ['/x/bcmd', 'a'],
    ['env', 'bcmd'],
    ['sh', '-c', 'true && bcmd'],
    ['find', '.', '-exec', 'bcmd', ';'],
  ])('denies the program in an argv: %j', async (...argv) => {
    expect(await judge(argv)).toBe('deny')
  })

  it('judges an argv as its words, without a shell', async () => {
    expect(await judge(['echo', '$(bcmd)', ';', 'bcmd'])).toBe('run')
    expect(await judge(['cat', 'a.txt', '>', 'x'], 'plan')).toBe('run')
  })

  it('allows or asks about harmless commands that resemble a denied one', async () => {
    const twins = [
      'echo bcmd',
      "echo 'true; bcmd'",
      'echo "bcmd"',
      'cat bcmd',
      'ls bcmd-notes',
      'grep bcmd a.txt',
      '# bcmd',
      'echo rm -rf x',
      'abcmd',
      'bcmdx',
      'rm -r build',
      'git pushed',
      'make bcmd',
    ]
    for (const command of twins) expect([command, await judge(command, 'auto')]).not.toEqual([command, 'deny'])
  })
})

describe('command rules', () => {
  it.each([
    ['make test', 'run'],
    ['make test unit', 'run'],
    ['make test; make test', 'run'],
    ['make test && ls', 'run'],
    ['make tests', 'ask'],
    ['make -C x test', 'ask'],
    ['./make test', 'ask'],
    ['make test $X', 'ask'],
    ['make test *', 'ask'],
    ['make test > log', 'ask'],
    ['make test; make install', 'ask'],
    ['env make test', 'ask'],
    ['X=1 make test', 'ask'],
    ['git status', 'run'],
    ['git status -s', 'ask'],
    ['git push', 'ask'],
    ['git push origin main', 'ask'],
    ['sudo git push', 'ask'],
    ['git $SUB', 'ask'],
    ['rm -rf build', 'deny'],
    ['rm -rf $DIR', 'deny'],
    ['rm $FLAGS x', 'deny'],
    ['bcmd $X', 'deny'],
  ])('judges `%s` as %s', async (command, expected) => {
    expect(await judge(command)).toBe(expected)
  })

  it.each([
    ['test -f a.txt && printf "%s %d\\n" a 1', 'run'],
    ['[ a = b ] || test a.txt -nt b.txt', 'run'],
    ['test -v a', 'ask'],
    ['[ ! -R a ]', 'ask'],
    ['printf -v x y', 'ask'],
    ['printf -vx y', 'ask'],
    ["printf '%n' PATH; make test", 'ask'],
    ['command printf "%n" PATH', 'ask'],
    ['read PATH < a.txt; make test', 'ask'],
    ['unset PATH', 'ask'],
    ['wait -p a 1', 'ask'],
    ['for PATH in src; do make test; done', 'ask'],
    ['for file in a b; do make test; done', 'run'],
  ])('treats `%s` as %s where rules allow its built-ins', async (command, expected) => {
    const allow = ['test', '[', 'printf', 'command', 'read', 'unset', 'wait', 'make test'].map(
      (name) => `Bash(${name} *)`,
    )
    expect(await judge(command, 'auto', { allow })).toBe(expected)
  })

  it('denies a program that a stored full-auto list names', async () => {
    await using made = await bootKernel({
      mode: 'full-auto',
      config: {
        policy: { deny: ['Bash(bcmd *)'] },
        automation: { full_auto: { enabled: true, allowed_tools: ['demo', 'Bash', 'exec'] } },
      },
      manifests: [plugins.root],
    })
    const result = await made.call('demo', { action: 'run', command: 'ls; bcmd' })
    expect(result.ok).toBe(false)
    expect((await made.call('demo', { action: 'run', command: 'make all' })).ok).toBe(true)
  })

  it('applies file rules to commands: redirections and the files of reading programs', async () => {
    const policy = { deny: ['Read(.env)', 'Edit(/secrets/**)'] }
    expect(await judge('cat .env', 'auto', policy)).toBe('deny')
    expect(await judge('cat < src/.env', 'auto', policy)).toBe('deny')
    expect(await judge('head -5 ./.env', 'plan', policy)).toBe('deny')
    expect(await judge('echo x > secrets/key', 'auto', policy)).toBe('deny')
    expect(await judge('cat a.txt', 'auto', policy)).toBe('run')
  })
})

describe('shell compositions', () => {
  // Quoting × wrapper × separator × substitution around the denied program; the verdict must be a denial.
  const quoted = fc.constantFrom(
    'bcmd',
    "b''cmd",
    '"bcmd"',
    "'bcmd'",
    'b\\cmd',
    '/x/bcmd',
    "$'bcmd'",
    'bcmd -x',
    'bcmd "a b"',
  )
  const wrapper = fc.constantFrom(
    '',
    'env ',
    'env A=1 ',
    'nohup ',
    'timeout 5 ',
    'sudo -n ',
    'nice -n 1 ',
    'command ',
    'xargs -0 ',
    'exec ',
  )
  const around = fc.constantFrom<(text: string) => string>(
    (text) => text,
    (text) => `ls; ${text}`,
    (text) => `${text} && ls`,
    (text) => `ls | ${text}`,
    (text) => `( ${text})`,
    (text) => `{ ${text}; }`,
    (text) => `echo $( ${text})`,
    (text) => `echo "$( ${text})"`,
    (text) => `cat <(${text})`,
    (text) => `if true; then ${text}; fi`,
    (text) => `ls\n${text}`,
    (text) => `until ${text}; do ls; done`,
    (text) => `X=$( ${text}) ls`,
    (text) => `cat <<E\n$( ${text})\nE`,
  )
  it('denies a program in any composition of shell constructs', async () => {
    const line = fc.tuple(wrapper, wrapper, quoted, fc.array(around, { maxLength: 4 }))
    await fc.assert(
      fc.asyncProperty(line, async ([outer, inner, program, layers]) => {
        const command = layers.reduce((text, wrap) => wrap(text), outer + inner + program)
        expect([command, await judge(command)]).toEqual([command, 'deny'])
      }),
      { numRuns: runs(400) },
    )
  })
})

describe('unified_exec/run', () => {
  it('runs read-only commands in plan mode and refuses the rest with an alternative', async () => {
    await using made = await bootKernel({ mode: 'plan', files: { 'README.md': 'one\ntwo\n' } })
    const run = (input: object): Promise<Result> => made.call('unified_exec', { action: 'run', ...input })
    matches(await run({ command: 'cat README.md | head -1' }), { ok: true, output: { stdout: 'one\n' } })
    matches(await run({ command: 'cat', args: ['README.md'] }), { ok: true, output: { stdout: 'one\ntwo\n' } })
    matches(await run({ command: 'touch x && cat README.md' }), {
      ok: false,
      error: { code: 'VT_POLICY_DENIED', details: { not_applied: true } },
    })
    matches(await run({ command: 'sed -n 1,2p README.md' }), {
      ok: false,
      error: {
        next: {
          tool: 'unified_file',
          input: { action: 'read', path: 'README.md', offset_lines: 1, page_size_lines: 2 },
        },
      },
    })
    expect(await made.read('x')).toBeUndefined()
  })

  it('judges a run with its folder, variables and shell', async () => {
    await using made = await bootKernel({ mode: 'plan', files: { 'src/a': '' } })
    const denied = async (input: object): Promise<boolean> =>
      !(await made.call('unified_exec', { action: 'run', ...input })).ok
    expect(await denied({ command: 'cat a', workdir: 'src' })).toBe(false)
    expect(await denied({ command: 'cat ../../secret', workdir: 'src' })).toBe(true)
    expect(await denied({ command: 'ls', env: { PATH: '.' } })).toBe(true)
    expect(await denied({ command: 'ls', env: { FOO: '1' } })).toBe(true)
    expect(await denied({ command: 'ls', login: true })).toBe(true)
    expect(await denied({ command: 'ls', shell: 'zsh' })).toBe(true)
  })

  it('starts no program of the workspace through a variable that a built-in or a loop sets', async () => {
    const script = '#!/bin/sh\n/usr/bin/touch "$(/usr/bin/dirname "$0")/../marker"\n'
    await using made = await bootKernel({
      mode: 'auto',
      config: { sandbox: { mode: 'off' }, policy: { allow: ['Bash(printf *)', 'Bash(test *)', 'Bash(read *)'] } },
      files: { '3/ls': script, 'a.txt': '3' },
    })
    await chmod(join(made.root, '3/ls'), 0o755)
    for (const command of [
      "printf 'abc%n' PATH; ls",
      'for PATH in 3; do ls; done',
      'printf -v PATH 3; ls',
      'read PATH < a.txt; ls',
      "test -v 'a[$(./3/ls)]'",
      "printf -v 'a[$(./3/ls)]' x",
    ]) {
      const result = await made.call('unified_exec', { action: 'run', command })
      expect([command, result.ok, await made.read('marker')]).toEqual([command, false, undefined])
    }
  })

  it('starts no program that hides in a line: the marker stays unwritten', async () => {
    await using made = await bootKernel({
      mode: 'auto',
      files: { bcmd: '#!/bin/sh\ntouch "$(dirname "$0")/marker"\n', 'a.txt': '' },
    })
    await chmod(join(made.root, 'bcmd'), 0o755)
    const lines = [
      './bcmd',
      'ls; ./bcmd',
      'ls $(./bcmd)',
      'cat <(./bcmd)',
      'env ./bcmd',
      "sh -c './bcmd'",
      'X=./bcmd; $X',
      'find . -name bcmd -exec {} \\;',
      'ls | xargs ./bcmd',
      'PATH=.:$PATH bcmd',
      'eval ./bcmd',
      '. ./bcmd',
      'bash bcmd',
      'bash < bcmd',
      'cat bcmd | sh',
      'trap ./bcmd EXIT',
      'f() { ./bcmd; }; f',
      'printf -v X ./bcmd; $X',
      'ls ${X:-$(./bcmd)}',
      'cat <<E\n$(./bcmd)\nE',
      'test -v "a[$(./bcmd)]"',
      "[[ 'a[$(./bcmd)]' -eq 1 ]]",
      'time ./bcmd',
      'coproc ./bcmd',
    ]
    for (const command of lines) {
      const result = await made.call('unified_exec', { action: 'run', command })
      expect([command, result.ok, await made.read('marker')]).toEqual([command, false, undefined])
    }
  })
})

describe('programs started by git', () => {
  const policy = { deny: ['Bash(bcmd *)'], allow: ['Bash(git *)', 'Bash(make test *)'] }
  it.each([
    'git rebase -x "bcmd x" main',
    'git rebase --exec="bcmd x" main',
    "git rebase '-xbcmd x' main",
    'git bisect run bcmd x',
    'git submodule foreach bcmd x',
    "git submodule foreach --recursive 'bcmd x'",
    'git difftool -x bcmd',
    'git grep -Obcmd a',
    'git grep --open-files-in-pager=bcmd a',
    'git fetch --upload-pack="bcmd x" origin',
    'git clone -u bcmd a b',
    'git push --receive-pack=bcmd',
    'git archive --remote=. --exec=bcmd HEAD',
    'git send-email --smtp-server=/usr/bin/bcmd x',
    "git filter-branch --tree-filter 'bcmd x'",
    "git -c alias.x='!bcmd x' x",
    'git -c core.pager="bcmd x" log',
    'git -c credential.helper=!bcmd fetch',
    'git config alias.x "!bcmd x"',
    'git config --global core.editor bcmd',
    'git config set core.sshCommand "bcmd x"',
    "git clone ext::'bcmd %S x' y",
    "git remote add o 'ext::bcmd x'",
    'git clone --config core.sshCommand=bcmd a b',
    'sh -c "git bisect run bcmd"',
    'git -C src -c a.b=c bisect run bcmd',
    'git -c alias.x="bisect run bcmd" x',
  ])('denies git that starts a denied program: %s', async (command) => {
    expect(await judge(command, 'auto', policy)).toBe('deny')
  })
  it('asks about a program that git starts without a rule and runs an allowed one', async () => {
    for (const command of [
      'git rebase -x other main',
      'git bisect run other',
      'git submodule foreach other x',
      'git rebase -x "$X" main',
    ])
      expect([command, await judge(command, 'auto', policy)]).toEqual([command, 'ask'])
    for (const command of [
      'git bisect run make test',
      'git rebase -x "make test" main',
      'git submodule foreach git status',
      'git config user.name bcmd',
      'git commit -m "bcmd x"',
      'git grep bcmd x',
    ])
      expect([command, await judge(command, 'auto', policy)]).toEqual([command, 'run'])
  })
})
