import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { hasTest } from './titles.js'

const project = dirname(dirname(import.meta.dirname))
const page = readFileSync(join(project, 'docs/security.md'), 'utf8')
const [promised, notPromised] = page.split('\n## What is not promised\n') as [string, string]
const named = [...promised.matchAll(/`(test\/[\w/.]+\.ts)` "([^"]+)"/g)].map(([, file, title]) => ({
  file: file!,
  title: title!,
}))

describe('docs/security.md', () => {
  it('finds each test of the security page by file and title', () => {
    expect(named.length).toBeGreaterThan(50)
    const missing = named.filter(({ file, title }) => !existsSync(join(project, file)) || !hasTest(file, title))
    expect(missing).toEqual([])
  })
  it('requires a test for each promise of the security page, in the expected form', () => {
    const promises = promised.split(/^(?=- |#)/m).filter((part) => part.startsWith('- '))
    expect(promises.filter((part) => !/`test\/[\w/.]+\.ts` "[^"]+"/.test(part))).toEqual([])
    expect(promised.match(/`test\//g)!.length).toBe(named.length)
  })
  it('lists what is not promised', () => {
    expect(notPromised.split(/^(?=- )/m).length).toBeGreaterThan(8)
  })
})
