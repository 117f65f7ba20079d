import { cpSync, mkdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { bin, vtcode } from '../../support/program.js'

const project = dirname(dirname(dirname(bin)))

it('vtcode docs --check notices a stale page, and docs writes it', async () => {
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
  expect(readFileSync(join(made.root, 'manifests/README.md'), 'utf8')).toContain('[unified_search/grep.yaml](unified_search/grep.yaml)')
})

it('vtcode docs is for the project itself', async () => {
  await using made = await tempWorkspace()
  expect((await vtcode(made, ['docs'])).code).toBe(2)
})
