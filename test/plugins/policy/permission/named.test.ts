import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import type { Config, Mode } from 'vtcode'

/** Makes a workspace with a read rule on one file, a write rule on another, and links in and out. */
async function boot(
  mode: Mode = 'auto',
  policy: Config['policy'] = { deny: ['Read(src/.env)', 'Edit(src/log)'] },
): Promise<Booted> {
  const config = {
    sandbox: { mode: 'off' },
    automation: { full_auto: { enabled: true } },
    manifests: ['!builtin:repeats', '!builtin:duplicate_calls'],
    policy: policy!,
  } as Config
  const made = await bootKernel({ mode, config, files: { 'src/.env': 'KEY=1\n', 'src/a.txt': 'a\n', 'a.txt': 'a\n' } })
  for (const [name, target] of [
    ['out', '/etc'],
    ['self', '.'],
    ['link', 'src'],
  ] as const)
    await symlink(target, join(made.root, name))
  return made
}
const say = async (made: Booted, command: string | { command: string; workdir: string }): Promise<string> => {
  const result = await made.call('unified_exec', {
    action: 'run',
    ...(typeof command === 'string' ? { command } : command),
  })
  if (result.ok) return 'run'
  return { VT_POLICY_DENIED: 'deny', VT_POLICY_NEEDS_APPROVAL: 'ask' }[result.error.code] ?? result.error.code
}

it('protects a file that a rule denies under every name that a command may use', async () => {
  const rules = { deny: ['Read(src/.env)', 'Edit(src/log)'], allow: ['Bash(cat *)', 'Bash(echo *)'] }
  for (const made of [await boot(), await boot('auto', rules), await boot('full-auto')]) {
    await using held = made
    const names = [
      'src/.env',
      'src/../src/.env',
      'src/./.env',
      'src//.env',
      './src/.env',
      'link/.env',
      'self/src/.env',
      `${held.root}/src/.env`,
      'link/../src/.env',
    ]
    for (const name of names)
      expect([name, await say(held, `cat ${name}`), await say(held, `cat < ${name}`)]).toEqual([name, 'deny', 'deny'])
    for (const name of ['.env', '../src/.env', './.env', '../link/.env'])
      expect([name, await say(held, { command: `cat ${name}`, workdir: 'src' })]).toEqual([name, 'deny'])
    for (const name of ['src/log', 'link/log', 'src/../src/log'])
      expect([name, await say(held, `echo x > ${name}`)]).toEqual([name, 'deny'])
  }
})

it('asks about a read-only command whose words lead out, also through a link', async () => {
  await using made = await boot()
  await symlink('/etc', join(made.root, 'src/beyond'))
  await symlink('../a.txt', join(made.root, 'src/within'))
  for (const command of [
    'ls src/*',
    'ls src/b*d',
    'ls ./s*/beyond',
    'ls src/../src/[a-c]*',
    'ls link/*',
    'du -s src/bey*',
    'ls src/* | head -3',
  ])
    expect([command, await say(made, command)]).toEqual([command, 'ask'])
  for (const command of ['ls src/*.txt', 'ls src/w*', 'echo src/*', 'ls s*/a.txt'])
    expect([command, await say(made, command)]).toEqual([command, 'run'])
  for (const command of [
    'cat out/passwd',
    'cat out/../etc/passwd',
    'cat self/../x',
    'cat link/../../x',
    `cat ${made.root}/self/../x`,
    `cat ${made.root}/../x`,
    'cat < out/../etc/passwd',
    { command: 'cat ../x', workdir: 'self' },
  ]) {
    expect([command, await say(made, command)]).toEqual([command, 'ask'])
  }
  for (const command of [
    'cat a.txt',
    'cat src/../a.txt',
    'cat link/../a.txt',
    'cat self/a.txt',
    'cat missing',
    `cat ${made.root}/a.txt`,
    { command: 'cat ../a.txt', workdir: 'src' },
  ]) {
    expect([command, await say(made, command)]).toEqual([command, 'run'])
  }
})

it('judges a command after cd for both folders where it may run', async () => {
  const allowing = { deny: ['Read(src/.env)'], allow: ['Bash(cd *)', 'Bash(git status *)', 'Bash(make *)'] }
  for (const made of [await boot(), await boot('auto', allowing)]) {
    await using held = made
    for (const command of [
      'cd src && ls',
      'cd src; cat a.txt',
      'cd ./src && pwd && cat a.txt',
      `cd ${held.root} && cat a.txt`,
      `cd ${held.root}/src && ls`,
      'cd self && cd src && ls',
      '(cd src; ls)',
      'cd src | cat a.txt',
    ]) {
      expect([command, await say(held, command)]).toEqual([command, 'run'])
    }
    for (const command of [
      'cd src && cat .env',
      'cd src | cat src/.env',
      'cd link; cat .env',
      'cd self && cd src && cat < .env',
      'cd src && cat ../src/.env',
    ])
      expect([command, await say(held, command)]).toEqual([command, 'deny'])
    const lost = [
      'cd /etc && cat passwd',
      'cd out && cat passwd',
      'cd && ls',
      'cd - && ls',
      'cd ~ && ls',
      'cd $HOME && cat x',
      'cd -P src && ls',
      'cd src && cat ../../x',
      'cd src && cat ../a.txt',
      'cd self && cat ../x',
      'cd .. && ls',
      'cd src/.. && ls',
      'pushd src && cat a.txt',
      'cd src a && cat a.txt',
      'CDPATH=/etc cd src && ls',
    ]
    for (const command of lost) expect([command, await say(held, command)]).toEqual([command, 'ask'])
  }
})
