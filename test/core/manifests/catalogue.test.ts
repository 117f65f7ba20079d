import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { readCatalogue } from '../../../build/core/manifests/catalogue.js'

it('parses a catalogue for the first two generations, shares frozen entries with all others, and reads a changed file again', () => {
  const file = join(mkdtempSync(join(realpathSync(tmpdir()), 'catalogue-')), '_catalogue.json')
  expect(readCatalogue(file)).toBeUndefined()
  const entries = (name: string) => [{ file: 'a.yaml', manifest: { name, errors: { X: { message: 'x' } } } }]
  writeFileSync(file, JSON.stringify(entries('one')))
  const [first, second, third] = [readCatalogue(file), readCatalogue(file), readCatalogue(file)]
  expect([first, second]).toEqual([entries('one'), entries('one')])
  expect([second === first, third === second, Object.isFrozen(first), Object.isFrozen(third![0]!.manifest['errors'])]).toEqual([false, true, false, true])
  writeFileSync(file, JSON.stringify(entries('changed')))
  expect(readCatalogue(file)).toEqual(entries('changed'))
  rmSync(file)
  expect(readCatalogue(file)).toBeUndefined()
})
