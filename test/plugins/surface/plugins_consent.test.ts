/// <reference types="node-pty" />
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { bin, surroundings, vtcode } from '../../support/program.js'

const files = { 'acme/vtcode.yaml': 'name: acme_hello\ndescription: Says hello.\nrun: [echo, hello]\n' }

/** `vtcode plugins …` at a terminal; `says` waits until this is shown. */
async function typing(made: TempWorkspace, ...words: string[]) {
  // The import of a variable skips the types of this alias; those of `@lydell/node-pty` apply.
  const pty = 'node-pty'
  const { spawn } = (await import(pty)) as typeof import('@lydell/node-pty')
  const terminal = spawn(process.execPath, [bin, 'plugins', ...words], {
    cwd: made.root,
    env: surroundings(made),
    cols: 100,
    rows: 30,
  })
  let shown = ''
  terminal.onData((data) => (shown += data))
  const ended = new Promise<number>((resolve) => terminal.onExit(({ exitCode }) => resolve(exitCode)))
  const says = (text: string) => expect.poll(() => shown.includes(text)).toBe(true)
  return { type: (text: string) => terminal.write(text), says, ended, shown: () => shown }
}
const installed = ({ home }: TempWorkspace) => existsSync(join(home, '.vtcode/plugins/acme/vtcode.yaml'))

it.each([
  ['y', 'y\r', 0, true],
  ['yes in capitals', 'YES\r', 0, true],
  ['n', 'n\r', 1, false],
  ['Enter alone', '\r', 1, false],
  ['something like a yes', 'yeah sure\r', 1, false],
  ['Ctrl-D', '\x04', 1, false],
  ['Ctrl-C', '\x03', 130, false],
])('shows at a terminal what a plugin may do, and asks; the answer is %s', async (_, keys, code, there) => {
  await using made = await tempWorkspace(files)
  const { type, says, ended, shown } = await typing(made, 'add', 'acme')
  await says('starts ["echo","hello"]')
  await says('May acme do this with your rights? [y/N]')
  expect(installed(made)).toBe(false)
  type(keys)
  if (there) {
    await says('Allow its tools? [y/N]')
    type('\r')
  }
  expect(await ended, shown()).toBe(code)
  expect(installed(made)).toBe(there)
  // Neither a half copy nor a lock on the lock is left.
  expect(readdirSync(join(made.home, '.vtcode/plugins'))).toEqual(there ? ['acme'] : [])
  expect(readdirSync(join(made.home, '.vtcode')).filter((name) => name.includes('busy'))).toEqual([])
})

it.each([
  ['lies in its place', ['add', '--in-place', 'PLACE']],
  ['is added', ['add', 'acme']],
])('refuses a plugin that %s when its files change while the question waits', async (_, words) => {
  await using made = await tempWorkspace(files)
  const place = join(made.home, '.vtcode/plugins/acme')
  if (words.includes('PLACE')) await made.write('../home/.vtcode/plugins/acme/vtcode.yaml', files['acme/vtcode.yaml'])
  const { type, says, ended, shown } = await typing(made, ...words.map((word) => (word === 'PLACE' ? place : word)))
  await says('May acme do this with your rights? [y/N]')
  const plugins = join(made.home, '.vtcode/plugins')
  const staged = readdirSync(plugins, { recursive: true, encoding: 'utf8' }).filter((path) =>
    path.endsWith('vtcode.yaml'),
  )
  for (const path of staged)
    writeFileSync(join(plugins, path), 'name: acme_hello\ndescription: Says hello.\nrun: [sh, -c, evil]\n')
  type('y\r')
  expect(await ended, shown()).toBe(1)
  expect(shown()).toContain('acme was changed while you were asked')
  expect(JSON.parse((await vtcode(made, ['call', 'acme_hello'])).stdout || '{"ok":false}')).toMatchObject({ ok: false })
})

it('asks once for the exact rules after consent, and runs its tools unasked here until the plugin is removed', async () => {
  await using made = await tempWorkspace(files)
  const asked = () =>
    vtcode(made, ['call', 'acme_hello']).then(
      ({ stdout }) => JSON.parse(stdout) as { ok: boolean; error?: { code: string } },
    )
  const { type, says, ended, shown } = await typing(made, 'add', 'acme')
  await says('May acme do this with your rights? [y/N]')
  type('y\r')
  await says('Allow its tools? [y/N]')
  expect(shown()).toMatch(/Rules that allow the tools of this plugin in this workspace:\s+acme_hello\s/)
  type('y\r')
  expect(await ended, shown()).toBe(0)
  expect(await asked()).toMatchObject({ ok: true })
  expect((await vtcode(made, ['plugins', 'remove', 'acme'])).code).toBe(0)
  await vtcode(made, ['plugins', 'add', 'acme', '--yes'])
  expect(await asked()).toMatchObject({ ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
})

it('removes a plugin after a yes at a terminal, or without a question with --yes or without a terminal', async () => {
  await using made = await tempWorkspace(files)
  const add = () => vtcode(made, ['plugins', 'add', 'acme', '--yes'])
  await add()
  const refused = await typing(made, 'remove', 'acme')
  await refused.says('Remove acme? [y/N]')
  refused.type('\r')
  expect([await refused.ended, installed(made)]).toEqual([1, true])
  const unasked = await typing(made, 'remove', 'acme', '--yes')
  expect([await unasked.ended, installed(made)]).toEqual([0, false])
  await add()
  const asked = await typing(made, 'remove', 'acme', '--data')
  await asked.says('Remove acme and its data? [y/N]')
  asked.type('y\r')
  expect([await asked.ended, installed(made)]).toEqual([0, false])
}, 240_000)
