import { describe, expect, it } from 'vitest'
import { bootKernel, fixtureW, matches, published, readExamples, tempWorkspace, testAction } from 'vtcode/test'

describe('matches', () => {
  it('accepts objects as subsets, at any depth', () => {
    expect(matches({ a: 1, b: { c: 2, d: 3 } }, { b: { c: 2 } })).toBe(true)
    expect(() => matches({ b: { c: 2 } }, { b: { c: 3 } }, 'output')).toThrow('output.b.c is 2 instead of 3')
  })
  it('compares arrays element by element and by length', () => {
    expect(matches([{ a: 1, b: 2 }], [{ a: 1 }])).toBe(true)
    expect(() => matches([1, 2], [1])).toThrow('2 items instead of 1')
    expect(() => matches([], [{ a: 1 }])).toThrow('0 items instead of 1')
  })
  it('reads `re:` as a regular expression for the whole string', () => {
    expect(matches('abc', 're:a.c')).toBe(true)
    expect(() => matches('abcd', 're:a.c')).toThrow('does not match')
    expect(() => matches(1, 're:1')).toThrow('not a string')
  })
  it('distinguishes absent, null and empty', () => {
    expect(() => matches({}, { a: null })).toThrow('value.a is undefined instead of null')
    expect(() => matches(null, {})).toThrow('not an object')
    expect(() => matches(0, false)).toThrow('0 instead of false')
  })
})

describe('readExamples', () => {
  it('finds examples with their section, line and slot', () => {
    const text =
      '## 2. `tool`\n### 2.1 `look` and `find`\n```jsonl\n{"call":["tool",{"action":"find"}]}\n{"call":["other"]}\n```\n'
    expect(readExamples(text, '2.1')).toEqual([
      { call: ['tool', { action: 'find' }], section: '2.1', line: 4, slot: 'tool/find' },
      { call: ['other'], section: '2.1', line: 5, slot: 'other' },
    ])
    expect(readExamples(text, '2')).toEqual([])
  })
  it('parses all examples of the published contracts', () => {
    const examples = readExamples(published())
    expect(examples.length).toBeGreaterThan(140)
    expect(examples.every((example) => example.error || example.output || example.text || example.files)).toBe(true)
  })
  it('uses a fixture of known bytes for the examples', () => {
    expect(Buffer.byteLength(fixtureW()['src/app.ts']!)).toBe(206)
    expect(fixtureW()['data/blob.bin']).toHaveLength(20)
  })
})

describe('tempWorkspace and bootKernel', () => {
  it('makes fresh workspaces, apart from their homes, and removes them', async () => {
    const { existsSync } = await import('node:fs')
    const one = await tempWorkspace({ 'a/b.txt': 'x' })
    await using other = await tempWorkspace()
    expect(await one.read('a/b.txt')).toBe('x')
    expect(await other.read('a/b.txt')).toBeUndefined()
    expect(one.home.startsWith(one.root)).toBe(false)
    await one[Symbol.asyncDispose]()
    expect(existsSync(one.root)).toBe(false)
  })
  it('boots a kernel that reads no settings of this machine', async () => {
    await using booted = await bootKernel()
    const files = booted.kernel.inspection.origins().map((origin) => origin.file)
    expect(files.filter((file) => file.startsWith(process.env.HOME ?? '/nowhere'))).toEqual([])
    expect(booted.kernel.workspace).toBe(booted.root)
  })
})

describe('testAction', () => {
  it('returns the published table of a slot and the author’s own rows', () => {
    const titles = testAction('unified_search/grep', { valid: [{ pattern: 'x' }], invalid: [{}] }).map(
      (row) => row.title,
    )
    expect(titles.filter((title) => title.includes('as published')).length).toBeGreaterThan(3)
    expect(titles.slice(-2)).toEqual(['unified_search/grep accepts {"pattern":"x"}', 'unified_search/grep refuses {}'])
  })
})
