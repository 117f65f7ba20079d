import { mkdir, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
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

describe('rule about files outside the workspace', () => {
  const keys = 'Read(~/keys/**)'
  const allow = ['grep', 'cp', 'cd', 'git', 'tar', 'cat', 'dd', 'python3', 'npm'].map((name) => `Bash(${name} *)`)
  /** Makes a home with `keys/a` and `other/b`, and links to both in the workspace. */
  async function open(policy: Config['policy'], mode: Mode = 'auto'): Promise<Booted> {
    const made = await boot(mode, policy)
    for (const name of ['keys/a', 'other/b']) {
      await mkdir(join(made.home, dirname(name)))
      await writeFile(join(made.home, name), 'KEY\n')
    }
    await symlink(join(made.home, 'keys'), join(made.root, 'linked'))
    return made
  }

  it('denies a command that an allow rule covers, under every name of the file', async () => {
    await using made = await open({ deny: [keys], allow })
    for (const command of [
      'grep KEY ~/keys/a',
      'grep KEY "$HOME/keys/a"',
      'grep KEY ${HOME}/keys/a',
      `grep KEY ${made.home}/keys/a`,
      `grep KEY ${made.home}/other/../keys/a`,
      'grep KEY ../home/keys/a',
      'grep KEY src/../../home/keys/a',
      'grep KEY linked/a',
      'grep KEY < linked/a',
      'grep KEY link/../linked/a',
      `grep --file=${made.home}/keys/a x`,
      `grep -f${made.home}/keys/a x`,
      `dd if=${made.home}/keys/a`,
      `tar -cf x.tar a.txt:${made.home}/keys`,
      `cp ${made.home}/keys/a .`,
      `cd ${made.home}/keys && grep KEY a`,
      `cd ${made.home}/other && grep KEY ../keys/a`,
      `git -C ${made.home}/other grep KEY ../keys/a`,
      `tar -cf x.tar -C ${made.home} keys`,
      `cat ${made.home}/keys/a`,
    ])
      expect([command, await say(made, command)]).toEqual([command, 'deny'])
  })

  it('asks about a folder around the files, and runs what names neither', async () => {
    await using made = await open({ deny: [keys, 'Edit(~/other/**)'], allow })
    for (const command of [
      `grep -r KEY ${made.home}`,
      'grep -r KEY ../home',
      `cd ${made.home}; grep -r KEY .`,
      `cp -r ${made.home}/ x`,
    ])
      expect([command, await say(made, command)]).toEqual([command, 'ask'])
    for (const command of ['grep a a.txt', 'grep -r a .', 'grep -r keys src', 'cat a.txt', 'npm run keys || true'])
      expect([command, await say(made, command)]).toEqual([command, 'run'])
    expect(await say(made, `cp a.txt ${made.home}/other/b`)).toBe('deny')
  })

  it('holds for a rule on the slot, in full-auto, and for a rule that asks', async () => {
    await using slot = await open({ deny: [keys], allow: ['unified_exec/run'] })
    await using full = await open({ deny: [keys], allow: ['unified_exec/run'] }, 'full-auto')
    await using asking = await open({ ask: [keys], allow })
    expect(await say(slot, 'sort ~/keys/a')).toBe('deny')
    expect(await say(slot, 'sort ~/other/b')).toBe('run')
    for (const command of ['grep -r KEY ~', 'sort ~/k*/a', 'sort "$HOME/$X/a"', 'sort "$HOME"/{keys,other}/a'])
      expect([command, await say(slot, command)]).toEqual([command, 'ask'])
    expect(await say(full, 'grep -r KEY ~')).toBe('deny')
    expect(await say(asking, `grep KEY ${asking.home}/keys/a`)).toBe('ask')
    expect(await say(asking, `grep KEY ${asking.home}/other/b`)).toBe('run')
  })
})

it('denies a covered command that names a file of the workspace which a rule denies', async () => {
  await using made = await boot('auto', {
    deny: ['Read(src/.env)', 'Read(/build/**)'],
    allow: ['Bash(grep *)', 'Bash(npm *)'],
  })
  for (const command of [
    'grep KEY src/.env',
    'grep KEY link/.env',
    'grep --file=src/.env x',
    'cd src && grep KEY .env',
  ])
    expect([command, await say(made, command)]).toEqual([command, 'deny'])
  for (const command of ['grep a src/a.txt', 'grep -r --exclude=src/.env a src', 'npm run build || true'])
    expect([command, await say(made, command)]).toEqual([command, 'run'])
})
