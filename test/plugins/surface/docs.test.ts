import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { lacks } from '../../support/exec.js'
import { packedFiles } from '../../support/packed.js'
import { bin, vtcode } from '../../support/program.js'

const project = dirname(dirname(dirname(bin)))

it('notices a stale page with vtcode docs --check and writes it with vtcode docs', async () => {
  await using made = await tempWorkspace()
  for (const file of ['package.json', 'core/README.md']) {
    mkdirSync(dirname(join(made.root, file)), { recursive: true })
    cpSync(join(project, file), join(made.root, file))
  }
  mkdirSync(join(made.root, 'manifests'))
  const docs = (...flags: string[]) => vtcode(made, ['docs', '--workspace', made.root, ...flags])
  expect(await docs('--check')).toMatchObject({ code: 1, stderr: expect.stringContaining('manifests/README.md') })
  expect((await docs()).code).toBe(0)
  expect((await docs('--check')).code).toBe(0)
  expect(readFileSync(join(made.root, 'manifests/README.md'), 'utf8')).toContain('`unified_search/grep.yaml`')
})

it('writes the tables of the agent-loop page with vtcode docs, and nothing else in it', async () => {
  await using made = await tempWorkspace()
  const page = readFileSync(join(project, 'docs/agent-loop.md'), 'utf8')
  for (const file of ['package.json', 'core/README.md', 'docs/agent-loop.md']) {
    mkdirSync(dirname(join(made.root, file)), { recursive: true })
    cpSync(join(project, file), join(made.root, file))
  }
  const docs = (...flags: string[]) => vtcode(made, ['docs', '--workspace', made.root, ...flags])
  await docs()
  expect(readFileSync(join(made.root, 'docs/agent-loop.md'), 'utf8')).toBe(page)
  await made.write('docs/agent-loop.md', page.replace(/^\| `call_start`.*\n/m, '').replace('## Words', '## Our words'))
  expect(await docs('--check')).toMatchObject({ code: 1, stderr: expect.stringContaining('docs/agent-loop.md') })
  await docs()
  expect(readFileSync(join(made.root, 'docs/agent-loop.md'), 'utf8')).toBe(page.replace('## Words', '## Our words'))
})

it('builds a man page that names every verb and tool, is packed and renders without a warning', async () => {
  const { man } = JSON.parse(readFileSync(join(project, 'package.json'), 'utf8')) as { man: string }
  expect(packedFiles(project)).toContain(man.replace('./', ''))
  const page = readFileSync(join(project, man), 'utf8')
  await using made = await tempWorkspace()
  const { stdout } = await vtcode(made, ['help'])
  for (const [, verb] of stdout.matchAll(/^ {2}([a-z]+) {2,}/gm))
    if (verb !== 'help') expect(page).toContain(`.SS vtcode ${verb}\n`)
  const { tools } = JSON.parse((await vtcode(made, ['tools', '--json'])).stdout) as {
    tools: { tool: string; action?: string }[]
  }
  for (const { tool, action } of tools) expect(page).toContain(`.B ${[tool, action].filter(Boolean).join(' ')}\n`)
  if (lacks('groff')) return
  const env = { PATH: process.env['PATH']!, LC_ALL: 'C.UTF-8' }
  const shown = spawnSync('groff', ['-man', '-Tutf8', '-ww', '-Kutf8', join(project, man)], { encoding: 'utf8', env })
  expect([shown.status, shown.stderr]).toEqual([0, ''])
  expect(shown.stdout).toMatch(/vtcode call \[flags\] <tool> \[action\]/)
})

it('refuses vtcode docs outside of this project', async () => {
  await using made = await tempWorkspace()
  expect((await vtcode(made, ['docs'])).code).toBe(2)
})
