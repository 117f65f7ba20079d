import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { tempWorkspace } from 'vtcode/test'
import { describeGrammars, keepLicence } from '../scripts/licences.mjs'

it('ends the build for a bundled package or a grammar without a licence text', async () => {
  await using place = await tempWorkspace()
  const folder = join(place.root, 'some')
  mkdirSync(folder)
  writeFileSync(join(folder, 'package.json'), '{ "name": "some", "version": "1.0.0", "license": "MIT" }')
  expect(() => keepLicence(folder)).toThrow('some has no licence text')
  expect(() => describeGrammars(folder, ['klingon'])).toThrow('The grammar of klingon has no author')
  writeFileSync(join(folder, 'LICENSE.md'), 'Free.')
  expect(() => keepLicence(folder)).not.toThrow()
})
