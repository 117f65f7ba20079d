import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { lstatSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bootKernel } from 'vtcode/test'
import { hold } from '../../../support/held.js'

const files = {
  'a.txt': 'a\n',
  'b.txt': 'b\n',
  'src/a.js': 'let a\n',
  'package.json': '{"scripts":{"w":"touch made"}}',
}

const WRITERS = [
  'touch made',
  'echo x > made',
  'echo x >> a.txt',
  'printf x > made',
  ': > a.txt',
  'cat a.txt > made',
  'tee made < a.txt',
  'cp a.txt made',
  'cp -r src made',
  'mv a.txt made',
  'ln -s a.txt made',
  'ln a.txt made',
  'rm a.txt',
  'rm -rf src',
  'rmdir src',
  'mkdir made',
  'mkdir -p made/deep',
  'mktemp -p .',
  'truncate -s 0 a.txt',
  'dd if=a.txt of=made',
  'install a.txt made',
  'chmod +x a.txt',
  'chmod 600 a.txt',
  'split -l 1 a.txt made',
  'sed -i s/a/b/ a.txt',
  "sed -n 'w made' a.txt",
  'awk \'{ print > "made" }\' a.txt',
  'sort -o made a.txt',
  'uniq a.txt made',
  'find . -name a.txt -delete',
  'find . -name a.txt -exec rm {} ;',
  'find . -fprint made',
  'xargs touch < a.txt',
  'tar -cf made a.txt',
  'gzip a.txt',
  'patch a.txt made.diff',
  'git add .',
  'git commit -qam x',
  'git checkout -q -- a.txt',
  'git checkout -qb made',
  'git restore a.txt',
  'git reset -q --hard',
  'git clean -qfd',
  'git stash -q',
  'git mv a.txt made',
  'git rm -q a.txt',
  'git tag made',
  'git branch made',
  'git config made.x 1',
  'git diff --output=made',
  'git log --output=made',
  'git apply made.diff',
  'git init -q made',
  'git worktree add -q made',
  'npm run w',
  'node -e \'require("fs").writeFileSync("made","")\'',
  'python3 -c \'open("made","w")\'',
  'sh -c "touch made"',
  'perl -pi -e s/a/b/ a.txt',
  'tee -a a.txt < b.txt',
  "python3 - <<'E'\nopen('made', 'w')\nE\n",
]
const FORMS: [form: string, wrap: (command: string) => string][] = [
  ['alone', (command) => command],
  ['after a command that reads', (command) => `ls && ${command}`],
  ['with a variable', (command) => `env A=1 ${command}`],
  ['in a substitution', (command) => `echo "$(${command})"`],
  ['in a subshell', (command) => `(cd . ; ${command})`],
]

/** Returns each file of a folder with its mode and content, those of git's folder too. */
const readTree = (root: string): string[] =>
  readdirSync(root, { recursive: true, encoding: 'utf8' })
    .filter((path) => !/^\.vtcode(?:\/|$)/.test(path))
    .sort()
    .map((path) => {
      const { mode } = lstatSync(join(root, path))
      return `${path} ${mode.toString(8)} ${(mode & 0o170000) === 0o100000 ? readFileSync(join(root, path), 'latin1') : ''}`
    })

describe('plan mode', () => {
  it.each([
    ['without a sandbox', { sandbox: { mode: 'off' } }],
    ['with a sandbox', { sandbox: { mode: 'auto' }, policy: { sandboxed_commands: 'allow' } }],
    ['with a rule that allows commands', { sandbox: { mode: 'off' }, policy: { allow: ['Bash(*)'] } }],
  ] as const)('changes no file for commands that write, %s', async (_, config) => {
    const booted = hold(await bootKernel({ mode: 'plan', files, config: config as never }))
    const git = (...args: string[]) =>
      execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', ...args], { cwd: booted.root })
    git('init', '-q', '-b', 'main')
    git('add', '.')
    git('commit', '-qm', 'x')
    writeFileSync(join(booted.root, 'b.txt'), 'changed\n')
    const before = readTree(booted.root)
    const ran: string[] = []
    for (const writer of WRITERS)
      for (const [, wrap] of FORMS) {
        const { ok } = await booted.kernel.call('unified_exec', { action: 'run', command: wrap(writer) })
        if (ok) ran.push(wrap(writer))
      }
    expect(WRITERS.length * FORMS.length).toBeGreaterThanOrEqual(300)
    expect(readTree(booted.root)).toEqual(before)
    expect(ran).toEqual([])
  })
})
