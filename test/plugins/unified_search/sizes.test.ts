import { execFileSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createKernel, type Kernel } from 'vtcode'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { MAX_RULE_BYTES } from '../../../build/plugins/lib/globs/index.js'
import { rounds } from '../../support/exec.js'
import { makeManyFiles } from '../../support/many_files.js'

/** Files of one folder; the long form has as many as the largest known folder. */
const many = rounds(5_000, 1_000_000)
/** Ignore rules of one file. ripgrep compiles them in time; the long form needs too much memory. */
const manyRules = rounds(3_000, 100_000)
const ruleLines = (rule: (index: number) => string): string =>
  Array.from({ length: manyRules }, (_, index) => rule(index)).join('\n')
const plainRules = ruleLines((index) => `name${index}*.log`)
/** Rules that take ripgrep more memory than it may have, within a second. */
const heavyRules = (bytes: number): string =>
  Array.from({ length: Math.ceil(bytes / 400) }, (_, index) => '?'.repeat(400) + index).join('\n')
const searches = [
  { action: 'list' },
  { action: 'list', mode: 'recursive' },
  { action: 'list', mode: 'recursive', entry_type: 'file' },
  { action: 'list', mode: 'tree' },
  { action: 'grep', pattern: 'hello' },
  { action: 'outline', path: '.' },
]

let made: TempWorkspace
let kernel: Kernel
beforeAll(async () => {
  made = await tempWorkspace({})
  kernel = await createKernel({ workspace: made.root, home: made.home })
})
afterAll(async () => {
  await kernel.close()
  // Names that are longer than a path may be: Node's own removal cannot reach them.
  execFileSync('rm', ['-rf', made.root])
  await made[Symbol.asyncDispose]()
})

describe('unified_search: extreme sizes', () => {
  it('answers or refuses with a code in a folder of very many files', async () => {
    makeManyFiles(join(made.root, 'wide'), many, (index) => `f${index}.txt`)
    writeFileSync(join(made.root, 'wide/found.txt'), 'hello\n')
    for (const search of searches) {
      const result = await kernel.call('unified_search', { ...search, path: 'wide' })
      expect(result).toMatchObject(result.ok ? { ok: true } : { error: { code: expect.stringMatching(/^VT_SEARCH_/) } })
    }
    expect(await kernel.call('unified_search', { action: 'grep', pattern: 'hello', path: 'wide' })).toMatchObject({
      output: { total_matches: 1 },
    })
  }, 600_000)

  it('answers or refuses with a code in a tree deeper than the longest path', async () => {
    const program = `process.chdir(process.argv[1]); require('fs').mkdirSync('deep'); process.chdir('deep')
for (let i = 0; i < ${rounds(1100, 3000)}; i++) { require('fs').mkdirSync('deep'); process.chdir('deep'); if (i % 1000 === 10) require('fs').writeFileSync('f.txt', 'hello\\n') }`
    execFileSync(process.execPath, ['-e', program, made.root])
    for (const search of searches) {
      const result = await kernel.call('unified_search', { ...search, path: 'deep' })
      expect(result).toMatchObject(result.ok ? { ok: true } : { error: { code: expect.stringMatching(/^VT_SEARCH_/) } })
    }
  }, 600_000)

  it.each([
    ['ten pairs of braces in a row', '{a,b}'.repeat(10)],
    ['a thousand and one words in one pair of braces', `{${'a,'.repeat(1000)}b}`],
    ['an unclosed brace', '{a,b'],
  ])('refuses a glob with %s', async (_, glob) => {
    for (const input of [
      { action: 'list', mode: 'recursive' },
      { action: 'grep', pattern: 'hello' },
      { action: 'structural', pattern: 'a', lang: 'js' },
    ]) {
      const result = await kernel.call('unified_search', { ...input, globs: [glob] })
      expect(result).toMatchObject({ error: { code: 'VT_INPUT_INVALID', message: expect.stringContaining('globs') } })
    }
  })

  it('applies very many ignore rules of a folder and reports more than it reads', async () => {
    const rules = join(made.root, 'rules/.gitignore')
    mkdirSync(join(made.root, 'rules'))
    for (const name of ['kept.txt', 'name3x.log', 'other.txt']) writeFileSync(join(made.root, 'rules', name), 'hello\n')
    for (const text of [
      plainRules,
      ...(process.env['VTCODE_SOAK'] ? [ruleLines((index) => `*${index % 10}*${index}`)] : []),
    ]) {
      writeFileSync(rules, text)
      for (const search of searches.slice(process.env['VTCODE_SOAK'] ? 0 : 2, -2)) {
        const result = await kernel.call('unified_search', { ...search, path: 'rules' })
        expect(result).toMatchObject(
          result.ok ? { ok: true } : { error: { code: expect.stringMatching(/^VT_SEARCH_/) } },
        )
      }
    }
    writeFileSync(rules, plainRules)
    const recursive = { action: 'list', mode: 'recursive', path: 'rules' }
    expect(await kernel.call('unified_search', { action: 'grep', pattern: 'hello', path: 'rules' })).toMatchObject({
      output: { total_matches: 2 },
    })
    for (const text of [plainRules, `${plainRules}\n${heavyRules(MAX_RULE_BYTES / 2)}`]) {
      writeFileSync(rules, text)
      const held = await kernel.call('unified_search', recursive)
      expect(held).toMatchObject({ output: { items: [{ path: 'rules/kept.txt' }, { path: 'rules/other.txt' }] } })
      expect(JSON.stringify(held)).not.toContain('.gitignore')
    }
    writeFileSync(rules, `${plainRules}\n${heavyRules(MAX_RULE_BYTES)}`)
    const more = await kernel.call('unified_search', recursive)
    expect(JSON.stringify(more)).toContain('.gitignore')
  }, 600_000)
})
