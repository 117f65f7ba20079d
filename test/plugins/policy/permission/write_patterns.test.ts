import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import type { Config } from 'vtcode'
import { lacks } from '../../../support/exec.js'
import { holdForFile } from '../../../support/held.js'

const files = {
  'mise.toml': '# old\n',
  'lefthook.yml': '# old\n',
  'vtcode.config.json': '{}\n',
  'sub/mise.toml': '# old\n',
  'kit/mise.toml': '# old\n',
  'kit/Makefile': '# old\n',
  Makefile: '# old\n',
  'docs/log': 'a\n',
  'a.txt': 'a\n',
}
const judge = async ({ kernel }: Booted, command: string): Promise<string> =>
  (await kernel.explain('unified_exec', { action: 'run', command })).verdict
async function open(policy: Config['policy'], sandbox: 'off' | 'auto' = 'off'): Promise<Booted> {
  const config: Config = { sandbox: { mode: sandbox }, policy: policy! }
  const made = holdForFile(await bootKernel({ mode: 'auto', files, config }))
  await mkdir(join(made.root, 'out'))
  return made
}

describe('pattern in the target of a write, without a sandbox', () => {
  let made: Booted
  beforeAll(async () => {
    made = await open({ allow: ['Bash'] })
  })

  it.each([
    'echo x > mise.tom?',
    'echo x > m[i]se.toml',
    'echo x > mise.*',
    'echo x > s*/mise.toml',
    'echo x | tee vtcode.confi?.json',
    'sed -i s/old/marker/ le?thook.yml',
    'touch *',
    'rm *.toml',
    'dd of=mis"$X"',
    'cp a.txt mise.tom?',
    'cp kit/mise.* .',
    'cp -t . kit/mise.*',
    'cp -rt . kit/mise.toml',
    'install -t . kit/mise.toml',
    'ln -t . kit/mise.toml',
    'mv -t . kit/mise.toml',
    'env -C sub tee mise.tom?',
    'cd su? && echo x > mise.tom?',
    'sort -o mise.tom? a.txt',
    'uniq a.txt mise.toml',
    'xxd -r -p a.txt mise.tom?',
    'echo x | tee mise.{toml,x}',
    'sed -i.toml p kit/mise',
    'sed --in-place=left*.yml p hook',
    'perl -pi.toml -e 1 mise',
    'cp -b -S .toml a.txt mise',
    'cp --backup --suffix=.toml a.txt mise',
    'mv -bS.toml a.txt mise',
    'gzip -df mise.toml.gz',
    'xz mise.toml',
    'gunzip -S .old mise.toml.old',
    'echo x > mise.{toml,}',
    'git bundle create .profile HEAD',
    'git fast-export --export-marks=.irbrc HEAD',
    'git mailinfo .envrc .npmrc',
    'git checkout-index --prefix=.vscode/ -a',
    'git archive -o .npmrc HEAD',
    'git diff --output=.envrc',
    'git worktree add .vscode',
    'git merge-file .envrc a.txt b.txt',
    'git stash push mise.toml',
    'git restore mise.tom?',
    'echo x > mi"$X"',
    'echo x > mi"$X"toml',
    'echo x > left"$X".yml',
    'echo x > "$X"',
    'echo x > docs/"$X"',
    'echo x > out"$X"',
  ])('asks about `%s`, which may write auto-executed config', async (command) => {
    expect(await judge(made, command)).toBe('ask')
  })

  it.each([
    'echo x > a.tx?',
    'rm -f *.txt',
    'rm -f out/*',
    'touch docs/l*',
    'echo x > result-"$X".txt',
    'echo x > /tmp/"$X"',
    'sed -i s/a/b/ a.t*',
    'cp *.txt out',
    'sed -i.bak s/a/b/ a.txt',
    'gzip a.txt',
    'gzip -dc mise.toml.gz',
    'git add mise.toml .envrc',
    'git commit -m x mise.toml',
    'git checkout -b left"$X"',
    'git checkout "$X"',
    'git diff mise.toml',
    'git log -- .envrc',
    'git rm -r out',
  ])('runs `%s`, which can write none', async (command) => {
    expect(await judge(made, command)).toBe('run')
  })

  it('changes no auto-executed config by a pattern', async () => {
    for (const command of ['echo x > mise.tom?', 'sed -i s/old/marker/ le?thook.yml']) {
      const result = await made.call('unified_exec', { action: 'run', command })
      expect([command, result.ok]).toEqual([command, false])
    }
    expect([await made.read('mise.toml'), await made.read('lefthook.yml')]).toEqual(['# old\n', '# old\n'])
  })
})

const none = lacks('bwrap')
describe.each([
  ['without a sandbox', 'off', { allow: ['Bash'] }],
  [`in the sandbox${none ? ' (SKIPPED: needs bwrap)' : ''}`, 'auto', { sandboxed_commands: 'allow' }],
] as const)('rule on files to edit, %s', (_, sandbox, policy) => {
  const isSkipped = sandbox === 'auto' && none
  let made: Booted
  beforeAll(async () => {
    made = await open({ ...policy, deny: ['Edit(Makefile)', 'Edit(/docs/log)'] } as Config['policy'], sandbox)
  })

  it
    .skipIf(isSkipped)
    .each([
      'echo x > Makef*',
      'echo x > M[a]kefile',
      'echo x > kit/M?kefile',
      'echo x > */Makefile',
      'echo x | tee Makef*',
      'cp a.txt M[a]kefile',
      'cp kit/Makef* .',
      'cp {a.txt,kit/Makefile} .',
      'cp -t . kit/Makefile',
      'mv -t . kit/Makefile',
      'sed -i s/a/b/ M*',
      'echo x > doc?/log',
      'cd docs && echo x > l*',
      'env -C docs tee lo?',
      'git bundle create Makefile HEAD',
      'sed -i.bak p Makefile',
      'sed -ifile p Make',
      'gzip Makefile',
      'gunzip Makefile.gz',
      'git archive -o Makefile HEAD',
      'git mailinfo a.txt Makefile',
      'git checkout -- Makefile',
      'git restore Makefile',
      'git mv a.txt Makefile',
      'git -C docs rm log',
      'git rm -r docs',
      'rm -r docs',
      'rm -r d*',
      'cd docs && rm -r .',
      'mv docs out',
      'chmod -R u+w docs',
      'bzip2 Makefile',
      'script -qc true Makefile',
      'setfacl -m u::r Makefile',
      'logsave Makefile true',
      'find docs -type f -delete',
      'find -empty -delete',
      'cd docs && find . -newer x -delete',
      'git restore docs',
      'git restore .',
      'git restore --source HEAD --staged --worktree docs',
      'git checkout HEAD~1 -- docs',
      'git checkout .',
      'git clean -fd',
      'git clean -fdx docs',
      'git -C docs clean -f',
      "sed -n 'w Makefile' a.txt",
      "sed 's/a/b/gw Makefile' a.txt",
    ])('denies `%s`, whose pattern matches a file of the rule', async (command) => {
    expect(await judge(made, command)).toBe('deny')
  })

  it
    .skipIf(isSkipped)
    .each([
      'echo x > M"$Y"akefile',
      'echo x | tee Make{file,x}',
      'echo x > M"$Y"',
      'echo x > "$Y"file',
      'echo x > ki"$Y"',
      'echo x > doc"$Y"g',
      'cp a.txt "M$Y"',
      'cp "$Y" kit',
      'touch $Y',
      'touch x$Y',
    ])('asks about `%s`, which may name a file of the rule', async (command) => {
    expect(await judge(made, command)).toBe('ask')
  })

  it
    .skipIf(isSkipped)
    .each([
      'echo x > a.tx?',
      'rm -f out/*',
      "find . -name '*.orig' -delete",
      'find out -delete',
      'git restore --staged docs',
      'git clean -nd',
      'git clean -fd out',
      'git checkout main',
      'touch *.txt',
      'echo x > result-"$Y".txt',
      'echo x > a"$Y".txt',
      'echo x > res"$Y".md',
    ])('runs `%s`, which can name none', async (command) => {
    expect(await judge(made, command)).toBe('run')
  })
})
