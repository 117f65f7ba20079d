import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  chmodSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createKernel, type Kernel, type Result } from 'vtcode'
import { describe, expect, it } from 'vitest'
import { DESTRUCTIVE } from '../../support/destructive.js'
import { rounds } from '../../support/exec.js'
import { vtcode } from '../../support/program.js'

// Each command destroys work in each tree, started in each way; one `vtcode revert` restores all entries of the workspace and of git.

const COMMANDS = Object.values(DESTRUCTIVE).flat()
const TREES = ['clean', 'dirty', 'ignored', 'worktree'] as const
const WAYS = ['rule', 'approved', 'terminal', 'code'] as const

interface Place {
  root: string
  home: string
  /** Folders whose entries are compared. */
  compared: string[]
}

function git(cwd: string, ...args: string[]): void {
  execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b', '-c', 'init.defaultBranch=main', ...args], {
    cwd,
    stdio: 'ignore',
  })
}

function makeTree(kind: (typeof TREES)[number]): Place {
  const folder = mkdtempSync(join(tmpdir(), 'destroyed-'))
  const main = join(folder, 'main')
  const write = (root: string, files: Record<string, string>): void => {
    for (const [path, text] of Object.entries(files)) {
      mkdirSync(join(root, path, '..'), { recursive: true })
      writeFileSync(join(root, path), text)
    }
  }
  mkdirSync(main)
  git(main, 'init', '-q')
  git(main, 'config', 'user.name', 'a')
  git(main, 'config', 'user.email', 'a@b')
  write(main, {
    'notes.txt': 'one note\nof two\n',
    'src/a.js': 'let one = 1\n',
    'src/b.js': 'let two = 2\n',
    'src/deep/inner.txt': 'inner\n',
    'run.sh': '#!/bin/sh\n',
    'package.json': '{"scripts":{"wipe":"rm -rf src notes.txt"}}\n',
    '.gitignore': 'ignored/\n',
  })
  chmodSync(join(main, 'run.sh'), 0o755)
  symlinkSync('src/a.js', join(main, 'link'))
  git(main, 'add', '-A')
  git(main, 'commit', '-q', '-m', 'first')
  git(main, 'tag', 'kept')
  git(main, 'branch', 'side')
  writeFileSync(join(main, 'src/b.js'), 'let two = 22\n')
  git(main, 'commit', '-q', '-a', '-m', 'second')
  let root = main
  if (kind === 'worktree') {
    root = join(folder, 'tree')
    git(main, 'worktree', 'add', '-q', '-b', 'work', root)
  }
  if (kind !== 'clean') {
    write(root, { 'src/a.js': 'let one = "dirty"\n', 'notes.txt': 'staged\n' })
    git(root, 'add', 'notes.txt')
    write(root, { 'notes.txt': 'staged, then changed\n' })
  }
  if (kind === 'ignored' || kind === 'worktree') {
    write(root, {
      'untracked.js': 'new\n',
      'src/also.txt': 'new\n',
      'ignored/build.bin': '\0\x01\x02',
      'ignored/x/y': 'y',
    })
    writeFileSync(Buffer.concat([Buffer.from(`${root}/strange-`), Buffer.from([0xff, 0xfe])]), 'not UTF-8')
    chmodSync(join(root, 'untracked.js'), 0o640)
  }
  mkdirSync(join(root, 'empty'))
  const home = join(folder, 'home')
  mkdirSync(home)
  return { root, home, compared: kind === 'worktree' ? [root, join(main, '.git')] : [root] }
}

/** Describes each entry below the folders: kind, mode, target and content. */
function listEntries({ compared }: Place): Record<string, string> {
  const entries: Record<string, string> = {}
  const visit = (folder: Buffer, shown: string): void => {
    for (const name of readdirSync(folder, { encoding: 'buffer' })) {
      const path = Buffer.concat([folder, Buffer.from('/'), name])
      const key = `${shown}/${name.toString('latin1')}`
      if (key === '0/.vtcode') continue
      const stats = lstatSync(path)
      const content = stats.isFile()
        ? createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 16)
        : stats.isSymbolicLink()
          ? readlinkSync(path)
          : ''
      entries[key] = `${stats.mode.toString(8)} ${content}`
      if (stats.isDirectory()) visit(path, key)
    }
  }
  for (const [index, folder] of compared.entries()) visit(Buffer.from(folder), String(index))
  return entries
}

type Way = (typeof WAYS)[number]

/** Runs a command to its end in one of the ways. Returns the text of all answers; `undefined` if it was refused. */
async function destroy(kernel: Kernel, way: Way, command: string, shell: string): Promise<string | undefined> {
  const call = (input: object) => kernel.call('unified_exec', input as never, { approve: () => true, session })
  const session = 'one' as never
  if (way === 'code') {
    const code = `import { execSync } from 'node:child_process'\ntry { execSync(${JSON.stringify(command)}, { stdio: 'ignore' }) } catch {}`
    return textOf(await call({ action: 'code', language: 'javascript', code }))
  }
  if (way !== 'terminal') return textOf(await call({ action: 'run', command }))
  let text = textOf(
    await call({ action: 'write', session_id: shell, input: `${command}; echo en''ded\n`, yield_time_ms: 100 }),
  )
  while (text && !text.includes('ended'))
    text += textOf(await call({ action: 'poll', session_id: shell, yield_time_ms: 100 }))
  return text
}

function textOf(result: Result): string | undefined {
  if (!result.ok && result.error.code !== 'VT_POLICY_DENIED') throw new Error(JSON.stringify(result.error))
  return result.ok ? JSON.stringify(result) : undefined
}

describe.each(TREES)('a %s tree', (tree) => {
  it.each(WAYS)(
    'loses nothing to destructive commands, started by %s',
    async (way) => {
      const combination = TREES.indexOf(tree) * WAYS.length + WAYS.indexOf(way)
      const chosen = COMMANDS.filter((_, index) => rounds(index % 16 === combination, true))
      const place = makeTree(tree)
      const kernel = await createKernel({
        workspace: place.root,
        home: place.home,
        env: { PATH: process.env.PATH!, HOME: place.home },
        mode: way === 'approved' ? 'ask' : 'full-auto',
        config: {
          automation: { full_auto: { enabled: true, allowed_tools: ['unified_exec'] } },
          sandbox: { mode: 'off' },
        },
      } as never)
      try {
        const begun =
          way === 'terminal' &&
          (await kernel.call(
            'unified_exec',
            { action: 'run', command: 'sh', tty: true, yield_time_ms: 300 } as never,
            { session: 'one' } as never,
          ))
        const shell = begun && begun.ok ? (begun.output as { session_id: string }).session_id : ''
        for (const command of chosen) {
          const before = listEntries(place)
          const answer = await destroy(kernel, way, command, shell)
          const after = listEntries(place)
          if (JSON.stringify(after) === JSON.stringify(before)) continue
          expect([command, answer]).toEqual([command, expect.any(String)])
          const ids = [...answer!.matchAll(/vtcode revert --command ([\w-]+)/g)].map(([, id]) => id!)
          const reverted = await vtcode(place as never, [
            'revert',
            ...(ids.length > 0 ? ['--command', ids.at(-1)!] : []),
          ])
          expect([command, reverted.code, reverted.stderr]).toEqual([command, 0, expect.stringContaining('Reverted')])
          expect([command, listEntries(place)]).toEqual([command, before])
        }
      } finally {
        await kernel.close()
        rmSync(join(place.root, '..'), { recursive: true, force: true })
      }
    },
    600_000,
  )
})
