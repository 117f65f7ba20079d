import assert from 'node:assert/strict'
import type { JsonObject } from '../../core/index.js'
import { readExamples } from './examples.js'
import { show } from './matches.js'
import { checkOutput, outputSchema } from './outputs.js'
import { missingNeeds } from './needs.js'
import { fixtureW, published, runExample } from './run.js'
import { bootKernel, type Boot } from './workspace.js'

/** One row of a table: give it to whatever test framework is at hand. */
export interface Case {
  title: string
  /** What is missing to run it; a framework should show it as skipped. */
  missing: string[]
  run(): Promise<void>
}

/**
 * The conformance table of a slot: every published example of it, run against whatever plugin serves it under `how`. `valid`
 * and `invalid` are inputs of your own that must succeed on fixture W or be refused with a typed error.
 */
export function testAction(
  slot: string,
  how: Omit<Boot, 'mode'> & { valid?: JsonObject[]; invalid?: JsonObject[] } = {},
): Case[] {
  const { valid = [], invalid = [], ...boot } = how
  const [tool = slot, action] = slot.split('/')
  const examples = readExamples(published()).filter((example) => example.slot === slot)
  const cases = examples.map((example) => ({
    title: `${slot} answers ${JSON.stringify(example.call[1] ?? {})} as published (${example.section}, line ${example.line})`,
    missing: missingNeeds(example),
    run: async () => void (await runExample(example, boot)),
  }))
  const own = (input: JsonObject, accepted: boolean): Case => ({
    title: `${slot} ${accepted ? 'accepts' : 'refuses'} ${JSON.stringify(input)}`,
    missing: [],
    run: async () => {
      await using booted = await bootKernel({ ...boot, files: { ...fixtureW(), ...boot.files } })
      const result = await booted.call(tool, action ? { action, ...input } : input)
      assert.equal(result.ok, accepted, show(result))
      await checkOutput(outputSchema(booted.kernel, slot), result)
    },
  })
  return [...cases, ...valid.map((input) => own(input, true)), ...invalid.map((input) => own(input, false))]
}
