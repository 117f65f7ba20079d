import { readdirSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { missingNeeds, outputSchema, published, readExamples, runExample } from 'vtcode/test'
import { asDeclared } from './support/answers.js'
import { seen } from './support/code_notes.js'

// The sections of fixtures/tools.md whose examples hold. A section is switched on with the work that makes it true, and stays on.
const sections: string[] = [
  '2.1',
  '2.2',
  '2.4',
  '2.5',
  '2.6',
  '2.7',
  '2.8',
  '2.9',
  '2.10',
  '2.11',
  '2.12',
  '2.13',
  '2.14',
  '3.1',
  '3.2',
  '3.3',
  '3.4',
  '3.5',
  '4.1',
  '4.3',
  '4.4',
  '4.5',
  '4.6',
  '5',
  '6.3',
  '7',
  '8',
  '9.3',
  '10.2',
  '10.3',
  '10.4',
  '12',
  '13',
]

/** Slots whose success was checked against their output schema. */
const held = new Set<string>()

for (const section of sections) {
  describe(`section ${section} of the published contracts`, () => {
    const examples = readExamples(published(), section)
    it('contains examples', () => expect(examples.length).toBeGreaterThan(0))
    for (const example of examples) {
      const missing = missingNeeds(example)
      const title = `answers as published in line ${example.line}: ${JSON.stringify(example.call)}`
      // In CI everything but the network is installed, so a skip there would hide a broken setup.
      const skip = missing.length > 0 && (!process.env.CI || missing.includes('net'))
      it.skipIf(skip)(skip ? `${title} (SKIPPED: needs ${missing.join(', ')})` : title, async () => {
        const result = await runExample(example)
        const { code } = (example.error ?? {}) as { code?: string }
        if (code) seen.add(code)
        if (!result.ok || !outputSchema({ list: () => [] }, example.slot)) return
        await asDeclared(example.slot, result)
        held.add(example.slot)
      })
    }
  })
}

describe('output schemas of slots', () => {
  it('declares an output schema for every slot, and checks it against an example where one can run', () => {
    const manifests = new URL('../manifests/', import.meta.url)
    const files = readdirSync(manifests, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.yaml'))
    const actions = files
      .map((file) => parse(readFileSync(new URL(file, manifests), 'utf8')))
      .filter(({ kind = 'action', stage = 'primary', alias }) => kind === 'action' && stage === 'primary' && !alias)
    expect(actions.filter(({ output }) => !output).map(({ action, name }) => action ?? name)).toEqual([])
    const unseen = actions.map(({ action, name }) => action ?? name).filter((slot) => !held.has(slot))
    // Their own tests do it; call_tool answers what the inner call does, the others belong to a conversation or need a
    // language server.
    expect(unseen.filter((slot) => !/^(agents|cron|task_tracker)\//.test(slot)).sort()).toEqual([
      'call_tool',
      'defuddle_fetch',
      'grep_search/fuzzy',
      'grep_search/similarity',
      'propose_plan',
      'report_result',
      'request_user_input',
      'unified_file/rename',
      'unified_search/calls',
      'unified_search/definition',
      'unified_search/diagnostics',
      'unified_search/hover',
      'unified_search/implementations',
      'unified_search/references',
      'unified_search/symbols',
      'unified_search/web',
      'web_search',
    ])
  })
})
