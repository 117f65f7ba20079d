// What the guards cost: paths that lead where they led when the call was judged, code that is loaded as it was agreed to, the sandbox
// around a command, and git that is asked what it would start.
import { spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createKernel } from 'vtcode'
import { listCallPaths } from '../../build/core/input/index.js'
import { openWorkspace } from '../../build/core/workspace/index.js'
import { inTurn, median, runs } from './measure.mjs'

const project = join(dirname(fileURLToPath(import.meta.url)), '../..')

export default async function bench() {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'vtcode-bench-')))
  try {
    return [...(await places(folder)), ...(await agreed(folder)), ...(await commands(folder))]
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Small files, read and written by whole calls; what the places of a call add is measured where they are used, for no call is without. */
async function places(folder) {
  const root = join(folder, 'places')
  mkdirSync(join(root, 'deep/er'), { recursive: true })
  writeFileSync(join(root, 'deep/er/a.txt'), 'text\n')
  const plain = openWorkspace(root, { home: join(folder, 'home') })
  const shape = { paths: [['path', 'workspace-path']] }
  const kernel = await createKernel({
    workspace: root,
    home: join(folder, 'home'),
    env: {},
    mode: 'auto',
    config: { manifests: ['builtin', '!builtin:repeats', '!builtin:duplicate_calls'] },
  })
  let count = 0
  const kinds = {
    read: [
      20,
      { action: 'read', path: 'deep/er/a.txt' },
      (view) => view.open('deep/er/a.txt').then((handle) => handle.close()),
    ],
    write: [
      5,
      { action: 'write', path: 'deep/er/b.txt', content: 'x', overwrite: true },
      (view) => view.write('deep/er/c.txt', Buffer.from(`${count++}`), 'anything'),
    ],
  }
  const rows = []
  for (const [kind, [times, input, use]] of Object.entries(kinds)) {
    const repeat = (run) => async () => {
      for (let i = 0; i < times; i++) await run()
    }
    const judged = () =>
      use(
        plain.createCallView(
          listCallPaths({ path: kind === 'write' ? 'deep/er/c.txt' : input.path }, shape, [kind], plain),
          () => {},
        ),
      )
    const [call, knowing, unknowing] = await inTurn(
      [
        repeat(async () => {
          const result = await kernel.call(
            'unified_file',
            kind === 'write' ? { ...input, content: `${count++}` } : input,
            { session: kind },
          )
          if (!result.ok) throw new Error(result.error.message)
        }),
        repeat(judged),
        repeat(() => use(plain.createCallView(undefined, () => {}))),
      ],
      101,
    )
    const [whole, added] = [call.spent, knowing.spent - unknowing.spent].map((ms) => ms / 101 / times)
    rows.push({
      name: `a ${kind} through its resolved places, against one without`,
      goal: 1.05,
      ratio: whole / (whole - added),
      detail: `processor time: the call ${(whole * 1000).toFixed(0)} µs, of which its places ${(added * 1000).toFixed(1)} µs; by the clock ${(median(call.times) / times).toFixed(2)} ms, of which ${(((median(knowing.times) - median(unknowing.times)) / times) * 1000).toFixed(1)} µs`,
    })
  }
  await kernel.close()
  plain.close()
  return rows
}

/**
 * Starts of a program of its own: without code of a workspace, against a workspace that may not have any; and what a file more costs,
 * against what it costs Node to import it. The first file also starts the thread of Node's module hooks, agreed to or not.
 */
async function agreed(folder) {
  const [few, many] = [5, 85]
  const place = (name) => {
    const root = join(folder, name)
    for (const part of ['work/tools', 'home']) mkdirSync(join(root, part), { recursive: true })
    return root
  }
  const roots = { none: place('none'), few: place('some-few'), many: place('some-many') }
  for (const [root, count] of [
    [roots.few, few],
    [roots.many, many],
  ]) {
    writeFileSync(join(root, 'work/vtcode.config.yaml'), 'manifests: [builtin, ./tools]\n')
    writeFileSync(
      join(root, 'work/tools/told.yaml'),
      'name: told\ndescription: Tells.\neffects: [read]\nmodule: ./main.js\n',
    )
    const names = Array.from({ length: count - 1 }, (_, i) => `m${i}`)
    for (const name of names)
      writeFileSync(join(root, `work/tools/${name}.js`), `export const ${name} = '${'x'.repeat(2000)}'\n`)
    writeFileSync(join(root, 'work/tools/package.json'), '{ "type": "module" }')
    writeFileSync(
      join(root, 'work/tools/main.js'),
      `${names.map((name) => `import { ${name} } from './${name}.js'\n`).join('')}export default () => ({ ok: true, output: { said: [${names.join(',')}].length } })\n`,
    )
    const add = spawnSync(process.execPath, [join(project, 'dist/core/bin.cjs'), 'trust', 'add', '--all'], {
      cwd: join(root, 'work'),
      env: { PATH: process.env.PATH, HOME: join(root, 'home') },
      encoding: 'utf8',
    })
    if (add.status !== 0) throw new Error(add.stderr)
  }
  const start = (root, how) =>
    JSON.parse(
      spawnSync(
        process.execPath,
        ['--input-type=module', '-e', program, join(project, 'dist/core/index.js'), root, how],
        {
          encoding: 'utf8',
          env: { PATH: process.env.PATH, HOME: join(root, 'home') },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      ).stdout,
    ).ms
  const [rounds, kinds] = [
    15,
    {
      without: ['none', 'agreed'],
      off: ['none', 'off'],
      few: ['few', 'agreed'],
      many: ['many', 'agreed'],
      few_plain: ['few', 'plainly'],
      many_plain: ['many', 'plainly'],
    },
  ]
  for (const root of [roots.few, roots.many]) start(root, 'agreed')
  const best = Object.fromEntries(Object.keys(kinds).map((kind) => [kind, Infinity]))
  for (let round = 0; round < rounds; round++)
    for (const [kind, [root, how]] of Object.entries(kinds)) best[kind] = Math.min(best[kind], start(roots[root], how))
  const each = (one, other) => (one - other) / (many - few)
  const [guarded, plain] = [each(best.many, best.few), each(best.many_plain, best.few_plain)]
  return [
    {
      name: 'agreed code: a start without any',
      goal: 1,
      ratio: best.without - best.off,
      unit: 'ms',
      detail: `processor time, best of ${rounds} processes in turn: ${best.without.toFixed(1)} ms in a workspace that may hold some, ${best.off.toFixed(1)} ms where plugins of a workspace are off`,
    },
    {
      name: 'agreed code: a file more',
      goal: 1,
      ratio: guarded - plain,
      unit: 'ms',
      detail: `processor time, of ${few} and ${many} files of 2 KB that were copied before: ${guarded.toFixed(2)} ms a file, imported by Node alone ${plain.toFixed(2)} ms; best of ${rounds} processes in turn, the start with ${many} ${best.many.toFixed(0)} ms`,
    },
  ]
}
const program = `
const [index, root, how] = process.argv.slice(1)
const { createKernel } = await import(index)
const { user, system } = process.cpuUsage()
const kernel = await createKernel({ workspace: root + '/work', home: root + '/home', mode: 'auto', config: { plugins: { isolate: 'inline', ...(how !== 'agreed' && { workspace: 'off' }) } } })
if (root.includes('some-')) {
  const result = how === 'plainly' ? (await import(root + '/work/tools/main.js')).default() : await kernel.call('told')
  if (!result.ok) throw new Error(result.error.message)
}
const now = process.cpuUsage()
console.log(JSON.stringify({ ms: (now.user + now.system - user - system) / 1000 }))
await kernel.close()
`

/**
 * A program in the sandbox, and git that looks unasked, against the same by hand and what a call adds to a program that needs neither:
 * bubblewrap as it is used commonly, with the system in sight as it is, and git without a look at what it would start.
 */
async function commands(folder) {
  const root = join(folder, 'commands')
  mkdirSync(root)
  for (const args of [
    ['init', '-q'],
    ['-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-q', '--allow-empty', '-m', 'x'],
  ])
    spawnSync('git', args, { cwd: root })
  for (let i = 0; i < 500; i++) writeFileSync(join(root, `f${i}`), '')
  const boot = (mode) =>
    createKernel({
      workspace: root,
      home: join(folder, 'home'),
      env: { PATH: process.env.PATH },
      mode: 'auto',
      config: { sandbox: { mode }, manifests: ['builtin', '!builtin:repeats', '!builtin:duplicate_calls'] },
    })
  const [boxed, open] = [await boot('required'), await boot('off')]
  const call =
    (kernel, ...command) =>
    async () => {
      const result = await kernel.call(
        'unified_exec',
        { action: 'run', command },
        { approve: () => command[0] !== 'git' },
      )
      if (!result.ok) throw new Error(result.error.message)
    }
  const byHand = [
    ...['user', 'pid', 'ipc', 'uts', 'net'].map((name) => `--unshare-${name}`),
    '--cap-drop',
    'ALL',
    '--die-with-parent',
    '--new-session',
    '--ro-bind',
    '/',
    '/',
    '--proc',
    '/proc',
    '--dev',
    '/dev',
    ...['--tmpfs', '/tmp', '--tmpfs', '/run', '--bind', root, root, '--chdir', root, '--', '/bin/true'],
  ]
  const look = ['status', '--short']
  const times = (
    await inTurn(
      [
        call(boxed, '/bin/true'),
        () => runs('bwrap', byHand, root),
        call(open, 'git', ...look),
        () => runs('git', look, root),
        call(open, '/bin/true'),
        () => runs('/bin/true', [], root),
      ],
      101,
    )
  ).map(({ times }) => median(times))
  const [inSandbox, plainSandbox, unasked, plainGit, plain, bare] = times
  await Promise.all([boxed.close(), open.close()])
  const row = (name, goal, ours, theirs, what) => ({
    name,
    goal,
    ratio: ours / (theirs + plain - bare),
    detail: `median of 101 in turn: ${ours.toFixed(1)} ms; ${what} ${theirs.toFixed(1)} ms, and what a call adds to a program ${(plain - bare).toFixed(1)} ms`,
  })
  return [
    row(
      'a sandboxed /bin/true, against one in a plain sandbox',
      1.2,
      inSandbox,
      plainSandbox,
      'bubblewrap by hand with all of the system in sight',
    ),
    row(
      'git status without asking, against one without checks',
      1.3,
      unasked,
      plainGit,
      'git by hand in a folder of 500 new files',
    ),
  ]
}
