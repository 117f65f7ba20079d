import { execFileSync, spawn } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { rounds } from '../../support/exec.js'
import { bin, surroundings, vtcode } from '../../support/program.js'

/** Files of a large package: no limit lies in between. */
const many = rounds(1_000, 10_000)

const tool = 'name: far_hello\ndescription: Says hello.\nrun: ["{plugin_root}/hello.sh"]\n'
const repository = (made: TempWorkspace): void => {
  const git = (...words: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@example.org', ...words], {
      cwd: join(made.root, 'far'),
    })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'one')
}
/** A shell that represents the other machine: commands that git would run there run here. */
const shell = (made: TempWorkspace, script: string): Record<string, string> => {
  mkdirSync(join(made.home, 'bin'), { recursive: true })
  writeFileSync(
    join(made.home, 'bin/ssh'),
    `#!/bin/sh\necho "$@" >> "$HOME/ssh.log"\nfor last; do :; done\n${script}\n`,
    { mode: 0o755 },
  )
  return { PATH: `${join(made.home, 'bin')}:${process.env['PATH']}` }
}
const folder = (made: TempWorkspace): string => join(made.home, '.vtcode/plugins')
const lock = (made: TempWorkspace) =>
  JSON.parse(readFileSync(join(made.home, '.vtcode/plugins.lock.json'), 'utf8')).plugins

it('installs over git+ssh:// and user@host:path without a question, with the commit in the lock', async () => {
  await using made = await tempWorkspace({ 'far/vtcode.yaml': tool.replace(/run: .*/, 'run: [echo, hello]') })
  repository(made)
  const env = shell(made, 'exec sh -c "$last"')
  for (const [name, address] of [
    ['one', `git+ssh://git@machine.example${made.root}/far`],
    ['two', `git@machine.example:${made.root}/far`],
  ] as const) {
    const ran = await vtcode(made, ['plugins', 'add', address, '--name', name, '--yes'], { env })
    expect([ran.code, ran.stdout], ran.stderr).toEqual([0, `Installed ${name}.\n`])
    expect(lock(made)[name].source).toMatchObject({
      type: 'git',
      url: address.replace(/^git\+/, ''),
      commit: expect.stringMatching(/^[0-9a-f]{40}$/),
    })
  }
  expect(readFileSync(join(made.home, 'ssh.log'), 'utf8')).toMatch(
    /BatchMode=yes.*git@machine\.example.*git-upload-pack/,
  )
  const refused = await vtcode(made, ['plugins', 'add', 'git@machine.example:far', '--yes'], {
    env: shell(made, 'echo "Permission denied (publickey)." >&2; exit 255'),
  })
  expect(refused).toMatchObject({
    code: 1,
    stderr: expect.stringMatching(/git failed: .*Permission denied \(publickey\)[^]*Nothing was changed/),
  })
})

it('ends an installation and its processes at Ctrl-C, and leaves nothing half installed', async () => {
  await using made = await tempWorkspace({ 'far/vtcode.yaml': tool })
  const env = shell(made, 'echo $$ > "$HOME/started"; exec sleep 600')
  const child = spawn(process.execPath, [bin, 'plugins', 'add', 'git@machine.example:far', '--yes'], {
    cwd: made.root,
    env: surroundings(made, env),
  })
  const ended = new Promise<number | null>((resolve) => child.on('close', (code) => resolve(code)))
  const started = join(made.home, 'started')
  await expect.poll(() => existsSync(started) && readFileSync(started, 'utf8').trim() !== '').toBe(true)
  child.kill('SIGINT')
  expect(await ended).toBe(130)
  expect([readdirSync(folder(made)), existsSync(join(made.home, '.vtcode/plugins.lock.json'))]).toEqual([[], false])
  await expect.poll(() => existsSync(`/proc/${readFileSync(started, 'utf8').trim()}`)).toBe(false)
})

it('installs an MCP bundle from its .mcpb file, with its server and the packed programs unchanged', async () => {
  const manifest = {
    manifest_version: '0.3',
    name: 'bundled',
    version: '1.2.0',
    description: 'Looks.',
    author: { name: 'a' },
    server: {
      type: 'node',
      entry_point: 'server.cjs',
      mcp_config: { command: 'node', args: ['${__dirname}/server.cjs'], env: {} },
    },
  }
  const server = `const answers = { initialize: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 's', version: '1' } }, 'tools/list': { tools: [{ name: 'look', description: 'Looks.', inputSchema: { type: 'object', properties: {} } }] }, 'tools/call': { content: [{ type: 'text', text: 'seen' }] } }
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => { const { id, method } = JSON.parse(line); if (id !== undefined) console.log(JSON.stringify(answers[method] ? { jsonrpc: '2.0', id, result: answers[method] } : { jsonrpc: '2.0', id, error: { code: -32601, message: 'no' } })) })\n`
  await using made = await tempWorkspace({
    'b/manifest.json': JSON.stringify(manifest),
    'b/server.cjs': server,
    'b/bin/tool.sh': '#!/bin/sh\n',
    'b/bin/plain.sh': '#!/bin/sh\n',
  })
  chmodSync(join(made.root, 'b/bin/tool.sh'), 0o755)
  execFileSync(
    'python3',
    [
      '-c',
      "import zipfile, os\nwith zipfile.ZipFile('bundle.mcpb', 'w') as z:\n  for d, _, fs in os.walk('b'):\n    for f in fs: z.write(os.path.join(d, f), os.path.relpath(os.path.join(d, f), 'b'))",
    ],
    { cwd: made.root },
  )
  const added = await vtcode(made, ['plugins', 'add', 'bundle.mcpb', '--yes'])
  expect([added.code, added.stderr]).toEqual([0, expect.stringMatching(/starts the server \["node"/)])
  expect(lock(made)['bundled']).toMatchObject({
    version: '1.2.0',
    source: { type: 'archive', integrity: expect.stringMatching(/^sha256-/) },
  })
  expect(['tool.sh', 'plain.sh'].map((name) => statSync(join(folder(made), 'bundled/bin', name)).mode & 0o111)).toEqual(
    [0o111, 0],
  )
  const called = await vtcode(made, [
    '-c',
    'policy.allow=["mcp__plugin_bundled_bundled__look"]',
    'call',
    'mcp__plugin_bundled_bundled__look',
  ])
  expect(JSON.parse(called.stdout)).toMatchObject({ ok: true, text: 'seen' })
})

it(`installs a package of ${many} files whole, and runs nothing of it once one of them is changed`, async () => {
  await using made = await tempWorkspace({ 'big/vtcode.yaml': tool.replace(/run: .*/, 'run: [echo, hello]') })
  mkdirSync(join(made.root, 'big/data'))
  for (let n = 0; n < many; n++) writeFileSync(join(made.root, 'big/data', `${n}`), `${n}`)
  const added = await vtcode(made, ['plugins', 'add', 'big', '--yes'])
  expect([added.code, added.stdout], added.stderr).toEqual([0, 'Installed big.\n'])
  expect(Object.keys(lock(made).big.files)).toHaveLength(many + 1)
  const call = async () =>
    JSON.parse((await vtcode(made, ['-c', 'policy.allow=["far_hello"]', 'call', 'far_hello'])).stdout)
  expect(await call()).toMatchObject({ ok: true })
  writeFileSync(join(folder(made), `big/data/${many - 1}`), 'changed')
  expect(await call()).toMatchObject({
    ok: false,
    error: { code: 'VT_PLUGIN_LOCK', message: expect.stringContaining(`data/${many - 1}`) },
  })
})
