import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, type Booted } from 'vtcode/test'
import { holdForFile } from '../../../support/held.js'

describe('options that start a program', () => {
  let made: Booted
  const programs = [
    'tar',
    'split',
    'sort',
    'rsync',
    'ssh',
    'scp',
    'sftp',
    'rg',
    'man',
    'svn',
    'zip',
    'sed',
    'entr',
    'sg',
    'tmux',
    'screen',
    'bwrap',
    'git',
    'install',
    'strace',
  ]
  beforeAll(async () => {
    const allow = programs.map((name) => `Bash(${name} *)`)
    const config = { sandbox: { mode: 'off' as const }, policy: { allow, deny: ['Bash(touch *)'] } }
    made = holdForFile(await bootKernel({ mode: 'auto', files: { 'a.txt': 'a\n' }, config }))
  })
  const judge = async (command: string): Promise<string> =>
    (await made.kernel.explain('unified_exec', { action: 'run', command })).verdict

  it.each([
    "tar -I 'touch m' -cf x.tar a.txt",
    "tar -cI 'touch m' -f x.tar a.txt",
    "tar cIf 'touch m' x.tar a.txt",
    "tar -I'touch m' -cf x.tar a.txt",
    "tar --use-compress-program='touch m' -cf x.tar a.txt",
    "tar --use-comp 'touch m' -cf x.tar a.txt",
    "tar -xf x.tar --to-command='touch m'",
    "tar cf /dev/null --checkpoint=1 --checkpoint-action=exec='touch m' a.txt",
    "tar -cf x.tar -F 'touch m' a.txt",
    "split --filter='touch m' a.txt",
    "split --filt 'touch m' a.txt",
    'sort --compress-program=touch a.txt',
    "rsync -avze 'touch m' a.txt b.txt",
    "rsync --rsh='touch m' a.txt host:b",
    "ssh -o ProxyCommand='touch m' host",
    "ssh -oLocalCommand='touch m' host",
    "scp -o 'proxycommand touch m' a.txt host:",
    'sftp -D touch host',
    'rg --pre=touch x',
    "man -P 'touch m' ls",
    'svn diff --diff-cmd touch',
    "zip -T --unzip-command 'touch m' x.zip a.txt",
    "sg root 'touch m'",
    "sg root -c 'touch m'",
    "entr -s 'touch m'",
    'entr touch m',
    'sshpass -p x touch m',
    'perf stat touch m',
    "hyperfine 'touch m'",
    "socat - EXEC:'touch m'",
    'nc -e touch host 1',
    'env ncat --sh-exec touch host 1',
    'start-stop-daemon -S -x /bin/touch m',
    'xvfb-run -n 5 touch m',
    'watchexec -w . touch m',
    "bat --pager='touch m' a.txt",
    "ssh -o ' ProxyCommand touch m' host",
    'install -s --strip-program=touch a.txt b.txt',
    "strace -o '|touch m' true",
    "strace -f --output='!touch m' true",
    "git fetch --upload-p='touch m' origin",
    "git fetch-pack --exec 'touch m' origin",
    "git rebase -ix 'touch m' main",
    "git grep -nO'touch m' a",
  ])('denies `%s`, which starts a program that a rule denies', async (command) => {
    expect(await judge(command)).toBe('deny')
  })

  it.each([
    "sed -n '1e touch m' a.txt",
    'sed e a.txt',
    "sed 's/a/touch m/e' a.txt",
    "sed -e p -e 's,a,touch m,ge' a.txt",
    "sed --expression='/a/,$ e touch m' a.txt",
    "sed '/x;/d;e touch m' a.txt",
    "sed 'sXaXtouch mXe' a.txt",
    "sed '1etouch m' a.txt",
    'git --config-env=core.pager=NAME log',
    'git --config-env core.pager=NAME log',
    "TAR_OPTIONS='-v' tar -tf x.tar",
    'GIT_CONFIG_GLOBAL=a.txt git commit',
    'GIT_TRACE2=/tmp/m git gc',
    "tmux new-session -d 'touch m'",
    'screen -dm touch m',
    'bwrap --bind / / touch m',
  ])('asks about `%s`, which may start a program', async (command) => {
    expect(await judge(command)).toBe('ask')
  })

  it.each([
    'tar -czf x.tgz a.txt',
    'tar xzf x.tgz --checkpoint=1000',
    'tar --to-stdout -xf x.tar',
    'split -l 5 a.txt',
    'sort -u --check a.txt',
    'ssh -o BatchMode=yes host',
    'sed -n 1,5p a.txt',
    'strace -fo out.txt true',
    'git fetch --update-shallow origin',
    "sed 's/the/e/' a.txt",
    "sed -E '/^end/,/else/s/(a|b){1,2}/x/g;$!d' a.txt",
    "sed 's|a e|b e|' a.txt",
  ])('runs `%s`, which starts none', async (command) => {
    expect(await judge(command)).toBe('run')
  })
})
