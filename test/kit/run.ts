import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import type { Result } from '../../core/index.js'
import type { Example } from './examples.js'
import { matches, show } from './matches.js'
import { checkOutput, outputSchema } from './outputs.js'
import { bootKernel, type Boot, type Files } from './workspace.js'

const fixtures = new URL('../fixtures/', import.meta.url)
/** The examples of the published contracts of the tools, below the headings of their slots. */
export const published = (): string => readFileSync(new URL('tools.md', fixtures), 'utf8')
/** Path → text of fixture W, the workspace that every example starts from. */
export const fixtureW = (): Files => ({
  ...(JSON.parse(readFileSync(new URL('w.json', fixtures), 'utf8')) as Record<string, string>),
  'data/blob.bin': Uint8Array.from({ length: 20 }, (_, index) => index),
})

/** Runs one example on a fresh copy of fixture W; throws an `AssertionError` where the answer differs, or is not what its slot says it answers. */
export async function runExample(example: Example, how: Omit<Boot, 'mode'> = {}): Promise<Result> {
  await using booted = await bootKernel({
    ...how,
    files: { ...fixtureW(), ...how.files, ...example.with },
    ...(example.mode && { mode: example.mode }),
  })
  for (const [tool, input] of example.before ?? []) await booted.call(tool, input)
  const result = await booted.call(...example.call)
  checkResult(result, example)
  await checkOutput(outputSchema(booted.kernel, example.slot), result)
  for (const [path, text] of Object.entries(example.files ?? {})) {
    matches((await booted.read(path)) ?? null, text, `file ${path}`)
  }
  return result
}

function checkResult(result: Result, example: Example): void {
  if (result.ok) {
    assert.ok(!example.error, `expected the error ${show(example.error)}, got ${show(result.output)}`)
    if (example.output) matches(result.output, example.output, 'output')
    if (example.text !== undefined) matches(result.text, example.text, 'text')
    if (example.content) matches(result.content, example.content, 'content')
  } else {
    assert.ok(example.error, `failed: ${show(result.error)}`)
    matches(result.error, example.error, 'error')
  }
  const codes = (result.notices ?? []).map((notice) => notice.code)
  for (const code of example.notices ?? []) assert.ok(codes.includes(code), `no notice ${code} among ${show(codes)}`)
}
