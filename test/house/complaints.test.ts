import { existsSync, readFileSync } from 'node:fs'
import { execFileSync } from 'node:child_process'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'

type Case = [thread: string, situation: string, file: string, title: string]
const themes = parse(readFileSync('test/conformance/complaints.yaml', 'utf8')) as {
  theme: string
  cases: Case[]
  open: string[]
}[]
const cases = themes.flatMap((one) => one.cases)

describe('complaints of the field', () => {
  it('names an existing test for each case', () => {
    const missing = cases.filter(
      ([, , file, title]) => !existsSync(file) || !readFileSync(file, 'utf8').includes(title),
    )
    expect(missing.map(([thread, , file, title]) => `${thread}: ${file} "${title}"`)).toEqual([])
  })
  it('names each thread in one form, and once', () => {
    const threads = cases.map(([thread]) => thread)
    expect(threads.filter((thread) => !/^[\w.-]+\/[\w.-]+#\d+$/.test(thread))).toEqual([])
    expect(threads.filter((thread, at) => threads.indexOf(thread) !== at)).toEqual([])
  })
  it('says for each theme without a case what is not held', () => {
    expect(themes.filter((one) => one.cases.length + one.open.length === 0)).toEqual([])
    expect(themes.length).toBeGreaterThanOrEqual(20)
  })
  it('equals the page', () => {
    execFileSync(process.execPath, ['scripts/complaints.mjs', '--check'])
  })
})
