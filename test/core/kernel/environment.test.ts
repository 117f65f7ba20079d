import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, it } from 'vitest'
import { bootKernel, tempWorkspace, type Booted } from 'vtcode/test'
import { holdForFile } from '../../support/held.js'

const GUARD = '#!/bin/sh\ncase "$(cat)" in *forbidden*) echo "refused by $LANG" >&2; exit 2;; esac\n'

let booted: Booted
beforeAll(async () => {
  const plugins = holdForFile(
    await tempWorkspace({
      'bin/own-program': '#!/bin/sh\necho "own $LANG $NOT_COMMON"\n',
      'bin/own-guard': GUARD,
      'own.yaml': 'name: own\ndescription: Runs a program.\neffects: [exec]\ninput: {}\nrun: [own-program]\n',
    }),
  )
  for (const name of ['own-program', 'own-guard']) chmodSync(join(plugins.root, 'bin', name), 0o755)
  booted = holdForFile(
    await bootKernel({
      mode: 'auto',
      manifests: [join(plugins.root, 'own.yaml')],
      env: { PATH: `${join(plugins.root, 'bin')}:${process.env['PATH']}`, LANG: 'xx_XX', NOT_COMMON: 'kept back' },
      config: {
        sandbox: { mode: 'off' },
        policy: { allow: ['Bash(own-program *)', 'own'] },
        hooks: { PreToolUse: [{ matcher: 'Bash', hooks: [{ command: 'own-guard' }] }] },
      },
    }),
  )
})

const run = (command: string) => booted.call('unified_exec', { action: 'run', command })

it('starts commands in the environment of the kernel, and rules look programs up there', async () => {
  expect(await booted.kernel.explain('unified_exec', { action: 'run', command: 'own-program a' })).toMatchObject({
    verdict: 'run',
  })
  expect(await run('own-program a')).toMatchObject({ ok: true, output: { stdout: 'own xx_XX \n' } })
})

it('starts command tools in the environment of the kernel', async () => {
  expect(await booted.call('own', {})).toMatchObject({ ok: true, output: { stdout: 'own xx_XX \n' } })
})

it('starts hooks in the environment of the kernel', async () => {
  const refused = await run('own-program forbidden')
  expect(refused).toMatchObject({ ok: false, error: { message: expect.stringContaining('refused by xx_XX') } })
})
