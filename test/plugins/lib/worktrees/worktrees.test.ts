import { execFileSync, spawnSync } from 'node:child_process'
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { openWorkspace, type OpenWorkspace } from '../../../../build/core/workspace/index.js'
import { openTrust } from '../../../../build/core/trust/index.js'
import { findLatestChange, undo } from '../../../../build/plugins/lib/files/index.js'
import { rounds } from '../../../support/exec.js'
import {
  dropWorktree,
  dropSessionWorktrees,
  createWorktree,
  mergeWorktree,
  findTreeChanges,
  findWorktree,
  type Worktree,
} from '../../../../build/plugins/lib/worktrees/index.js'

type Content = string | Buffer | { link: string } | { runs: string }
interface Scene {
  root: string
  home: string
  workspace: OpenWorkspace
  git(...args: string[]): string
  put(root: string, files: Record<string, Content | null>): void
  make(id?: string, isHidden?: (path: string) => boolean): Promise<Worktree>
  merge(tree: Worktree, only?: string[]): Promise<unknown>
  /** Lists everything in a folder except files of git and of this program. */
  see(root: string): Record<string, string>
}
const open: (() => unknown)[] = []
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close()
})

function put(root: string, files: Record<string, Content | null>): void {
  for (const [path, content] of Object.entries(files)) {
    const file = join(root, path)
    rmSync(file, { recursive: true, force: true })
    if (content === null) continue
    mkdirSync(dirname(file), { recursive: true })
    if (typeof content === 'string' || Buffer.isBuffer(content)) writeFileSync(file, content)
    else if ('link' in content) symlinkSync(content.link, file)
    else writeFileSync(file, content.runs, { mode: 0o755 })
  }
}
function see(root: string): Record<string, string> {
  const found: Record<string, string> = {}
  for (const name of readdirSync(root, { recursive: true, encoding: 'utf8' }).sort()) {
    const stat = lstatSync(join(root, name))
    if (/(^|\/)(\.git|\.vtcode)(\/|$)/.test(name) || stat.isDirectory()) continue
    found[name] = stat.isSymbolicLink()
      ? `-> ${readlinkSync(join(root, name))}`
      : `${stat.mode & 0o100 ? '+x ' : ''}${readFileSync(join(root, name), 'latin1')}`
  }
  return found
}

async function scene(files: Record<string, Content>): Promise<Scene> {
  const place: TempWorkspace = await tempWorkspace()
  const { root } = place
  const home = join(place.home, '.vtcode')
  mkdirSync(home, { recursive: true })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], {
      cwd: root,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  git('init', '-q')
  put(root, files)
  git('add', '-A')
  git('commit', '-qm', 'one')
  const workspace = openWorkspace(root, { home })
  open.push(
    () => place[Symbol.asyncDispose](),
    () => workspace.close(),
  )
  const signal = new AbortController().signal
  return {
    root,
    home,
    workspace,
    git,
    put,
    see,
    make: (id = 'ses_a', isHidden) =>
      createWorktree(workspace, { id, session: 'ses_parent', ...(isHidden && { isHidden }) }),
    async merge(tree, only) {
      const changes = await findTreeChanges(workspace, tree)
      try {
        return await mergeWorktree(
          { slot: 'agents/merge', id: 'c1' },
          { workspace, session: { id: 's' }, signal } as never,
          tree,
          only ? changes.filter(({ path }) => only.includes(path)) : changes,
        )
      } catch (error) {
        return (error as { problem?: unknown }).problem ?? error
      }
    },
  }
}
const conflict = (...paths: string[]) => ({
  code: 'VT_AGENT_MERGE_CONFLICT',
  details: { conflicts: paths.map((path) => expect.objectContaining({ path })) },
})

describe('worktree', () => {
  it('copies visible files byte for byte, uncommitted ones too, whatever the attributes are', async () => {
    const s = await scene({
      'a.txt': 'one\n',
      'gone.txt': 'x',
      'deep/b.txt': 'b\r\nc\r\n',
      'run.sh': { runs: 'echo\n' },
      link: { link: 'deep/b.txt' },
      'id.c': '$Id$\n',
      '.gitignore': 'ignored/\n*.log\n',
      'kept.log.txt': 'k',
      'secret.txt': 's',
      'vtcode.config.yaml': 'policy: {}\n',
    })
    s.put(s.root, {
      '.gitattributes': '*.txt text eol=crlf\nid.c ident\n*.u16 working-tree-encoding=UTF-16LE\n',
      'a.txt': 'two\r\nthree\nfour',
      'gone.txt': null,
      'new.u16': Buffer.from('x\0\n\0', 'latin1'),
      'sp ace\n\té.bin': Buffer.from([0, 255, 10]),
      'ignored/x': 'x',
      'y.log': 'y',
      'nul.bin': Buffer.alloc(70_000),
      empty: '',
      '.vtcode/agents/one.md': 'x',
      '.config/vtcoderc': 'exec: {}\n',
      '.config/other': 'o',
    })
    s.put(s.root, { '.git/info/exclude': '.vtcode\n.config\nunseen\n', unseen: 'u' })
    const before = s.git('count-objects', '-v') + s.git('worktree', 'list') + s.git('status', '--porcelain')
    const tree = await s.make('ses_a', (path) => path === 'secret.txt')
    const {
      'ignored/x': _,
      'y.log': __,
      unseen: ___,
      'secret.txt': ____,
      '.config/other': _____,
      ...rest
    } = s.see(s.root)
    expect(s.see(tree.root)).toEqual(rest)
    expect(readFileSync(join(tree.root, '.vtcode/agents/one.md'), 'utf8')).toBe('x')
    expect(s.git('count-objects', '-v') + s.git('worktree', 'list') + s.git('status', '--porcelain')).toBe(before)
    // The worktree is an independent repository without visible changes.
    const there = (...args: string[]) => execFileSync('git', args, { cwd: tree.root, encoding: 'utf8' })
    expect([
      there('status', '--porcelain'),
      there('rev-parse', '--show-toplevel').trim(),
      existsSync(join(tree.root, '.git/objects/info/alternates')),
    ]).toEqual(['', tree.root, false])
    expect(await findTreeChanges(s.workspace, tree)).toEqual([])
    expect(await findWorktree(s.workspace, 'ses_a')).toEqual(tree)
    await dropWorktree(s.workspace, 'ses_a')
    expect([await findWorktree(s.workspace, 'ses_a'), readdirSync(join(s.root, '.vtcode/worktrees'))]).toEqual([
      undefined,
      ['.gitignore'],
    ])
  })

  it('copies ignored files of other programs whose rules count, even one that hides itself', async () => {
    const names = ['.claude/settings.local.json', '.cursorignore', '.vtcoderc']
    const s = await scene({ '.gitignore': `${names.join('\n')}\n`, 'a.txt': 'a' })
    s.put(s.root, { [names[0]!]: '{}', [names[1]!]: '.*\n', [names[2]!]: '' })
    const tree = await s.make('ses_a', (path) => path === '.cursorignore')
    for (const name of names) expect([name, existsSync(join(tree.root, name))]).toEqual([name, true])
  })

  it('uses from the repository only identical bytes, nothing hidden, outdated or borrowed', async () => {
    const s = await scene({
      'past.txt': 'what was\n',
      '.gitattributes': '*.rot filter=rot\n*.crlf text eol=crlf\n*.id ident\n',
    })
    for (const way of ['clean', 'smudge']) s.git('config', `filter.rot.${way}`, "tr 'a-m' 'n-z'")
    s.git('config', 'core.fileMode', 'false')
    const many = Object.fromEntries(
      Array.from({ length: 40 }, (_, at) => [`d${at % 4}/f${at}.txt`, `file ${at}\n`.repeat(20)]),
    )
    const names = {
      'past.txt': null,
      'secret.txt': 'hidden\n',
      'a.rot': 'aaaa\n',
      'a.crlf': 'a\r\nb\r\n',
      'a.id': '$Id: 1 $\n',
      'sly.txt': 'one\n',
      'lost.txt': 'lost\n',
      'run.sh': { runs: 'echo\n' },
      'é\t\n.txt': 'name\n',
    }
    s.put(s.root, { ...many, ...names })
    // The wait keeps git from treating the files as just written.
    await new Promise((resolve) => setTimeout(resolve, 300))
    s.git('add', '-A')
    s.git('commit', '-qm', 'two')
    const idOf = (name: string) => s.git('rev-parse', name).trim()
    const unseen = [idOf('HEAD~:past.txt'), idOf('HEAD:secret.txt'), idOf('HEAD~')]
    const lost = idOf('HEAD:lost.txt')
    // Only its length distinguishes the changed file from the object in git.
    const { atime, mtime } = lstatSync(join(s.root, 'sly.txt'))
    writeFileSync(join(s.root, 'sly.txt'), 'two\n')
    utimesSync(join(s.root, 'sly.txt'), atime, mtime)
    s.git('update-index', '--assume-unchanged', 'sly.txt')
    s.put(s.root, { '.gitattributes': '*.rot filter=rot\n' })
    rmSync(join(s.root, '.git/objects', lost.slice(0, 2), lost.slice(2)))
    const all = () =>
      readdirSync(join(s.root, '.git'), { recursive: true, encoding: 'utf8' }).map(
        (name) => `${name} ${lstatSync(join(s.root, '.git', name)).mtimeMs}`,
      )
    const make = async (id: string) => {
      const before = all()
      const tree = await s.make(id, (path) => path === 'secret.txt')
      const { 'secret.txt': _, ...rest } = s.see(s.root)
      expect([s.see(tree.root), await findTreeChanges(s.workspace, tree), all()]).toEqual([rest, [], before])
      const has = (name: string) => spawnSync('git', ['cat-file', '-e', name], { cwd: tree.root }).status === 0
      expect([lost, ...unseen].map(has)).toEqual([true, false, false, false])
      // The worktree needs no other repository.
      renameSync(join(s.root, '.git'), join(s.home, 'apart.git'))
      expect(spawnSync('git', ['fsck', '--full', '--strict'], { cwd: tree.root }).status).toBe(0)
      expect(execFileSync('git', ['status', '--porcelain'], { cwd: tree.root, encoding: 'utf8' })).toBe('')
      renameSync(join(s.home, 'apart.git'), join(s.root, '.git'))
      return readdirSync(join(tree.root, '.git/objects')).some((name) => name.length === 2)
    }
    // Reading file by file leaves loose objects.
    expect(await make('ses_a')).toBe(false)
    s.git('clone', '-q', '--bare', '.', join(s.home, 'other.git'))
    s.put(s.root, { '.git/objects/info/alternates': `${join(s.home, 'other.git/objects')}\n` })
    expect(await make('ses_b')).toBe(true)
  })

  it('makes, compares and merges without running filters, hooks or a watcher of the repository', async () => {
    const s = await scene({ 'a.txt': 'one\n', 'b.txt': 'b\n' })
    const evil = (root: string, config = join(root, '.git/config')) => {
      const script = join(root, '.git/evil.sh')
      put(root, {
        '.git/evil.sh': { runs: `#!/bin/sh\ntouch ${s.home}/ran\ncat\n` },
        '.gitattributes': '* filter=evil diff=evil\n',
      })
      for (const hook of ['post-checkout', 'post-index-change', 'pre-commit', 'reference-transaction'])
        put(root, { [`.git/hooks/${hook}`]: { runs: `#!/bin/sh\ntouch ${s.home}/ran\n` } })
      const set = {
        'filter.evil.clean': script,
        'filter.evil.smudge': script,
        'filter.evil.process': script,
        'filter.evil.required': 'true',
        'diff.evil.textconv': script,
        'core.fsmonitor': script,
        'core.hooksPath': join(root, '.git/hooks'),
      }
      for (const [key, value] of Object.entries(set)) execFileSync('git', ['config', '--file', config, key, value])
    }
    evil(s.root)
    s.put(s.root, { 'a.txt': 'two\n' })
    const tree = await s.make()
    evil(tree.root)
    s.put(tree.root, { 'b.txt': 'B\n', 'c.txt': 'c\n' })
    expect(await s.merge(tree, ['b.txt', 'c.txt'])).toMatchObject([
      { path: 'b.txt', op: 'update', added: 1, removed: 1 },
      { path: 'c.txt', op: 'add' },
    ])
    expect([readFileSync(join(s.root, 'b.txt'), 'utf8'), existsSync(join(s.home, 'ran'))]).toEqual(['B\n', false])
  })

  it('refuses a worktree without a repository and leaves nothing when the disk is full', async () => {
    const place = await tempWorkspace({ 'a.txt': 'a' })
    const workspace = openWorkspace(place.root, { home: join(place.home, '.vtcode') })
    open.push(
      () => place[Symbol.asyncDispose](),
      () => workspace.close(),
    )
    await expect(createWorktree(workspace, { id: 'ses_a', session: 'p' })).rejects.toMatchObject({
      problem: {
        code: 'VT_AGENT_NO_WORKTREE',
        message: 'No worktree can be made here: the workspace is in no git repository.',
      },
    })
    const s = await scene({ 'big.bin': Buffer.alloc(3_000_000, 'x') })
    const small = join(s.root, '.vtcode/worktrees')
    mkdirSync(small, { recursive: true })
    // A small disk needs the right to mount.
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', small]).status !== 0) return
    try {
      await expect(s.make()).rejects.toMatchObject({
        problem: { code: 'VT_AGENT_NO_WORKTREE', message: expect.stringMatching(/space/i) },
      })
      expect(readdirSync(small)).toEqual(['.gitignore'])
    } finally {
      execFileSync('umount', [small])
    }
  })

  it('counts as the workspace for consents, unlike any folder of a repository', async () => {
    const s = await scene({ 'a.txt': 'a' })
    const item = { id: 'x', title: 'x', digest: 'd', files: [] }
    const env = { HOME: dirname(s.home) }
    openTrust({ home: s.home, workspace: s.root, env }).add([item])
    const tree = await s.make()
    put(s.root, {
      '.vtcode/worktrees/brought/a.txt': 'a',
      '.vtcode/worktrees/brought.json': readFileSync(join(s.root, '.vtcode/worktrees/ses_a.json'), 'utf8'),
    })
    const trusted = (workspace: string, digest = 'd') =>
      openTrust({ home: s.home, workspace, env }).isTrusted({ id: 'x', digest })
    expect([
      trusted(s.root),
      trusted(tree.root),
      trusted(tree.root, 'e'),
      trusted(join(s.root, '.vtcode/worktrees/brought')),
      trusted(join(tree.root, '.git')),
    ]).toEqual([true, true, false, false, false])
    await dropSessionWorktrees(s.workspace, 'ses_other')
    expect(await findWorktree(s.workspace, 'ses_a')).toBeDefined()
    await dropSessionWorktrees(s.workspace, 'ses_parent')
    expect(await findWorktree(s.workspace, 'ses_a')).toBeUndefined()
  })
})

describe('worktree merge', () => {
  it('merges worktree changes and disjoint lines, keeps local changes, and can be undone', async () => {
    const lines = (...changed: string[]) => Array.from({ length: 9 }, (_, at) => changed[at] ?? `line ${at}`).join('\n')
    const s = await scene({
      'both.txt': lines(),
      'crlf.txt': lines().replaceAll('\n', '\r\n'),
      'latin.txt': Buffer.from(`\xe9\n${lines()}`, 'latin1'),
      bin: Buffer.from([0, 1]),
      'mode.sh': 'echo\n',
      'gone.txt': 'x\n',
      'here.txt': 'h\n',
      'dir/moved.txt': 'm\n',
      'same.txt': 's\n',
    })
    const tree = await s.make()
    s.put(s.root, {
      'both.txt': lines('HERE'),
      'crlf.txt': lines('HERE').replaceAll('\n', '\r\n'),
      'latin.txt': Buffer.from(`\xe9\nHERE\n${lines()}`, 'latin1'),
      'here.txt': 'H\n',
      'same.txt': 'S\n',
    })
    const begin = see(s.root)
    const last = [...Array<string>(8), 'THERE']
    s.put(tree.root, {
      'both.txt': lines(...last),
      'crlf.txt': lines(...last).replaceAll('\n', '\r\n'),
      'latin.txt': Buffer.from(`\xe9\n${lines(...last)}\xe8`, 'latin1'),
      bin: Buffer.from([0, 2]),
      'mode.sh': { runs: 'echo\n' },
      'gone.txt': null,
      'dir/moved.txt': null,
      'other/moved.txt': 'm\n',
      'same.txt': 'S\n',
      'new/exec.sh': { runs: 'x' },
      '.gitignore': 'out/\n',
      'out/x': 'x',
      '.vtcode/plans/p.md': 'p',
    })
    expect(await s.merge(tree)).toMatchObject([
      { path: '.gitignore', op: 'add' },
      { path: 'bin', op: 'update' },
      { path: 'both.txt', op: 'update', added: 1, removed: 1 },
      { path: 'crlf.txt' },
      { path: 'dir/moved.txt', op: 'delete' },
      { path: 'gone.txt', op: 'delete', added: 0, removed: 1 },
      { path: 'latin.txt' },
      { path: 'mode.sh', op: 'update', added: 0 },
      { path: 'new/exec.sh', op: 'add' },
      { path: 'other/moved.txt', op: 'add' },
    ])
    expect(s.see(s.root)).toEqual({
      '.gitignore': 'out/\n',
      bin: '\0\u0002',
      'both.txt': lines('HERE', ...last.slice(1)),
      'crlf.txt': lines('HERE', ...last.slice(1)).replaceAll('\n', '\r\n'),
      'latin.txt': `\xe9\nHERE\n${lines(...last)}\xe8`,
      'mode.sh': '+x echo\n',
      'here.txt': 'H\n',
      'same.txt': 'S\n',
      'new/exec.sh': '+x x',
      'other/moved.txt': 'm\n',
    })
    // A second merge has nothing left to do.
    expect(await s.merge(tree)).toEqual([])
    await undo(s.workspace, (await findLatestChange(s.workspace, 's'))!)
    expect(s.see(s.root)).toEqual(begin)
  })

  it('refuses a whole merge when both sides changed the same lines, a binary, a name or a type', async () => {
    const s = await scene({
      'a.txt': 'one\ntwo\n',
      bin: Buffer.from([0, 1]),
      'gone.txt': 'x\n',
      'left.txt': 'y\n',
      link: { link: 'a.txt' },
      'file.txt': 'f\n',
      'fine.txt': 'f\n',
    })
    const tree = await s.make()
    s.put(s.root, {
      'a.txt': 'ONE\ntwo\n',
      bin: Buffer.from([0, 2]),
      'gone.txt': null,
      'left.txt': 'Y\n',
      'new.txt': 'here\n',
      'file.txt': null,
    })
    s.put(s.root, { 'file.txt/inner': 'i' })
    s.put(tree.root, {
      'a.txt': 'eins\ntwo\n',
      bin: Buffer.from([0, 3]),
      'gone.txt': 'X\n',
      'left.txt': null,
      'new.txt': 'there\n',
      link: { link: 'bin' },
      'file.txt': 'F\n',
      'fine.txt': 'F\n',
      sub: null,
    })
    execFileSync('git', ['init', '-q', join(tree.root, 'sub')])
    const before = s.see(s.root)
    const refused = (await s.merge(tree)) as any
    expect(refused).toMatchObject(conflict('a.txt', 'bin', 'file.txt', 'gone.txt', 'left.txt', 'link', 'new.txt'))
    expect(refused.message).toBe(
      "Nothing was merged: 'a.txt' was changed on both sides in the same lines; 'bin' is binary and was changed on both sides; 'file.txt' is a directory here; 'gone.txt' was changed by the agent and deleted here; 'left.txt' was deleted by the agent and changed here; 'link' is a link in the worktree, and links are not merged; 'new.txt' was added on both sides with different lines.",
    )
    expect(refused.details.conflicts[0].hunks).toBe('<<<<<<< here\nONE\n=======\neins\n>>>>>>> agent')
    expect(s.see(s.root)).toEqual(before)
    expect(await s.merge(tree, ['fine.txt'])).toMatchObject([{ path: 'fine.txt' }])
  })

  it('merges random texts like `git merge-file` and refuses exactly where that finds a conflict', async () => {
    let seed = 7
    const random = (below: number): number => (
      (seed = (seed * 1103515245 + 12345) % 2147483648),
      Math.floor((seed / 2147483648) * below)
    )
    const edited = (lines: readonly string[], edits: number): string[] => {
      const copy = [...lines]
      for (let edit = 0; edit < edits; edit += 1)
        copy.splice(
          random(copy.length + 1),
          random(3),
          ...Array.from({ length: random(3) }, () => 'abcdefg'[random(7)]!),
        )
      return copy
    }
    const textOf = (lines: readonly string[], end: string): string => lines.join(end) + (random(4) === 0 ? '' : end)
    const count = rounds(60, 200)
    const cases = Array.from({ length: count }, (_, at) => {
      const base = Array.from({ length: 3 + random(25) }, () => 'abcdefg'[random(7)]!)
      const end = random(5) === 0 ? '\r\n' : '\n'
      return {
        path: `f${at}.txt`,
        base: textOf(base, end),
        here: textOf(edited(base, 1 + random(3)), end),
        there: textOf(edited(base, 1 + random(3)), end),
      }
    })
    const of = (side: 'base' | 'here' | 'there') => Object.fromEntries(cases.map((one) => [one.path, one[side]]))
    const s = await scene(of('base'))
    const tree = await s.make()
    s.put(s.root, of('here'))
    s.put(tree.root, of('there'))
    const expected = cases.map(({ path, base, here, there }) => {
      put(s.home, { here, base, there })
      const { status, stdout } = spawnSync('git', ['merge-file', '-p', '-q', 'here', 'base', 'there'], {
        cwd: s.home,
        encoding: 'latin1',
      })
      return { path, here, there: status === 0 ? stdout : undefined }
    })
    const [clean, torn] = [
      expected.filter(({ there }) => there !== undefined),
      expected.filter(({ there }) => there === undefined),
    ]
    expect([clean.length > count / 5, torn.length > 20 && torn.length > count / 5]).toEqual([true, true])
    const refused = (await s.merge(
      tree,
      torn.map(({ path }) => path),
    )) as any
    expect(refused.details.conflicts.map(({ path }: any) => path)).toEqual(
      torn
        .map(({ path }) => path)
        .sort()
        .slice(0, 20),
    )
    expect(refused.message).toContain(`; and ${torn.length - 20} more.`)
    expect(s.see(s.root)).toEqual(of('here'))
    await s.merge(
      tree,
      clean.map(({ path }) => path),
    )
    expect(s.see(s.root)).toEqual(Object.fromEntries(expected.map(({ path, here, there }) => [path, there ?? here])))
  })
})
