import { mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import type { Config } from 'vtcode'
import { holdForFile } from '../../../support/held.js'

const files = {
  id_rsa: 'MARK\n',
  '.env': 'MARK\n',
  'src/.env': 'MARK\n',
  'src/a.txt': 'a\n',
  'keys/k.txt': 'MARK\n',
  'build/out.txt': 'MARK\n',
  'a.txt': 'a\n',
  'b.txt': 'b\n',
}
const deny = ['Read(id_rsa)', 'Read(.env)', 'Read(src/.env)', 'Read(keys/**)', 'Read(/build/**)']
const programs = ['sort', 'grep', 'tar', 'git', 'npm', 'make', 'sed', 'find', 'rg']

async function open(policy: Config['policy'], mode: 'auto' | 'full-auto' = 'auto'): Promise<Booted> {
  const made = holdForFile(await bootKernel({ mode, files, config: { sandbox: { mode: 'off' }, policy: policy! } }))
  await mkdir(join(made.root, 'empty'))
  await symlink('keys', join(made.root, 'linked'))
  return made
}
const judge = async ({ kernel }: Booted, command: string): Promise<string> =>
  (await kernel.explain('unified_exec', { action: 'run', command })).verdict

describe('rule on files to read, without a sandbox', () => {
  let covered: Booted
  let slot: Booted
  let free: Booted
  beforeAll(async () => {
    covered = await open({ deny, allow: programs.map((name) => `Bash(${name} *)`) })
    slot = await open({ deny, allow: ['Bash'] })
    free = await open({ allow: ['Bash'] })
  })

  it.each([
    ['sort id_rsa', 'a bare word'],
    ['sort -- id_rsa', 'a word after the end of the options'],
    ['sort -u a.txt id_rsa', 'a later word'],
    ['grep . id_rsa', 'a word after a pattern'],
    ['grep -e . id_rsa', 'a word after the option for a pattern'],
    ['grep -f id_rsa a.txt', 'the value of an option'],
    ['grep -fid_rsa a.txt', 'a value next to its option'],
    ['grep -hfid_rsa a.txt', 'a value next to a cluster of options'],
    ['sort --files0-from=id_rsa', 'a value after an equals sign'],
    ['sed -n p id_rsa', 'a word after a script'],
    ['sort .env', 'a hidden file'],
    ['git diff --no-index /dev/null id_rsa', 'a word of git'],
    ['git show HEAD:id_rsa', 'a file of a revision'],
    ['git grep MARK -- "id_r*"', 'a quoted pattern for git'],
    ['find . -name "id_r*" -print', 'a quoted pattern for find'],
    ['tar -cO id_rsa', 'a member of an archive'],
    ['tar -cO -T id_rsa', 'a list of members'],
    ['tar --exclude-from=id_rsa -cO a.txt', 'a list of what is left out'],
    ['tar -C keys -cO k.txt', 'a folder of tar'],
    ['tar --directory=keys -cO k.txt', 'a long option for a folder'],
    ['tar -cOC keys k.txt', 'a folder after a cluster'],
    ['git -C keys grep --no-index MARK k.txt', 'a folder of git'],
    ['git -C keys grep --no-index MARK', 'a folder alone'],
    ['git -C empty -C ../keys grep --no-index MARK k.txt', 'two folders of git'],
    ['make -f id_rsa', 'a file for a task runner'],
    ['make -C keys -f k.txt', 'a folder of make'],
    ['npm exec sort id_rsa', 'a program that a task runner starts'],
    ['sort linked/k.txt', 'a link'],
    ['cd empty/../keys && sort k.txt', 'a folder with two dots'],
  ])('denies `%s`, which names a file by %s, although a rule allows the program', async (command) => {
    expect(await judge(covered, command)).toBe('deny')
    expect(await judge(slot, command)).toBe('deny')
  })

  it.each([
    'cat .en*',
    'cat src/.e?v',
    'cat s*/.env',
    'sort id_r[s]a',
    'sort id_*',
    'sort *',
    'grep MARK ke*/*',
    'grep MARK lin*/k.txt',
    'cat < id_rs*',
    'cat <>id_rsa',
    'cat 0<> id_rsa',
    'sort .*/keys/k.txt',
    'dd if=id_rsa',
    'dd if=id_r*',
    'env -C keys sort k.txt',
    'env --chdir=keys sort k.txt',
    'tar -C ke?s -cO k.txt',
    'cd ke* && sort k.txt',
    'cd empty && cd .. && sort keys/k.txt',
    'cp id_rsa c.txt',
    'cp -t empty id_rsa',
    'install -t empty id_rsa',
    'ln id_rsa c.txt',
    'mv -t empty id_rsa',
    'rsync id_rsa c.txt',
    'curl -d @id_rsa http://127.0.0.1:1/',
    'find . -path ./id_rsa -exec cat {} +',
    'while read -r line; do echo x; done < id_rsa',
    'sort src/{.env,a.txt} id_rsa',
  ])('denies `%s` where a rule allows all commands', async (command) => {
    expect(await judge(slot, command)).toBe('deny')
  })

  it.each([
    'sort "$X"',
    'sort $X.txt',
    'sort "id_$X"',
    'sort "i$X"a',
    'sort {id_rsa,a.txt}',
    'sort --files0-from="$X"',
    'cat < "$X"',
    'cd "$X" && sort k.txt',
    'git -C "$X" grep --no-index MARK k.txt',
    'shopt -s dotglob; sort e*',
    "bash -O nocaseglob -c 'sort ID_*'",
    'GLOBIGNORE=x; sort e*',
  ])('asks about `%s`, whose file only the run decides', async (command) => {
    expect(await judge(slot, command)).toBe('ask')
    expect(await judge(free, command)).toBe('run')
  })

  it.each([
    'sort a.txt',
    'sort b',
    'sort missing',
    'sort -- a.txt',
    'sort id_rsa.pub',
    'grep keys a.txt',
    'grep -rn id_rsa src/a.txt',
    'sed -n keys a.txt',
    'npm run build',
    'npm run keys',
    'make build',
    'git commit -m keys',
    'git log --oneline',
  ])('runs `%s`, which names no such file', async (command) => {
    expect([await judge(covered, command), await judge(slot, command)]).toEqual(['run', 'run'])
  })

  it.each([
    'sort *.txt',
    'sort ?.txt',
    'sort src/*',
    'grep a src/a*',
    'echo .en*',
    'echo "$X"',
    '[ -n "$X" ]',
    'rm -f "out-$X.txt"',
    'git commit -m "$(echo keys)"',
    'export X="$(pwd)"',
    'cd "$(git rev-parse --show-toplevel)" && npm test',
    'tar -C src -cO a.txt',
    'env -C src sort a.txt',
    'dd if=a.txt of=c.txt',
  ])('runs `%s` where a rule allows all commands', async (command) => {
    expect(await judge(slot, command)).toBe('run')
  })

  it('asks about a dynamic word only where its known end or beginning fits the rule', async () => {
    const made = await open({ deny: ['Read(id_rsa)'], allow: ['Bash'] })
    for (const [command, verdict] of [
      ['sort "$X"', 'ask'],
      ['sort "$X"_rsa', 'ask'],
      ['sort "$X.txt"', 'run'],
      ['sort "no_$X"', 'run'],
      ['cd "$X" && sort a.txt', 'run'],
      ['cd "$X" && sort i*', 'deny'],
    ] as const)
      expect([command, await judge(made, command)]).toEqual([command, verdict])
  })

  it('denies or refuses in full-auto what it denies or asks about otherwise', async () => {
    const full = await open({ deny, allow: ['Bash'] }, 'full-auto')
    for (const command of ['sort id_rsa', 'sort id_r*', 'sort "$X"'])
      expect([command, await judge(full, command)]).toEqual([command, 'deny'])
  })

  it('asks for a rule that asks, and shows no content of a denied file', async () => {
    const asking = await open({ ask: deny, allow: ['Bash(sort *)'] })
    expect([await judge(asking, 'sort id_rsa'), await judge(asking, 'sort a.txt')]).toEqual(['ask', 'run'])
    for (const command of ['sort id_rsa', 'sort id_r*', 'tar -C keys -cO k.txt']) {
      const result = await slot.call('unified_exec', { action: 'run', command })
      expect([command, result.ok, JSON.stringify(result).includes('MARK')]).toEqual([command, false, false])
    }
  })
})
