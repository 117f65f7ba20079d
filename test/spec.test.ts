import { describe, expect, it } from 'vitest'
import { missingNeeds, published, readExamples, runExample } from 'vtcode/test'
import { seen } from './support/codes.js'

// The sections of fixtures/tools.md whose examples hold. A section is switched on with the work that makes it true, and stays on.
const sections: string[] = ['2.1', '2.2', '2.4', '2.5', '2.6', '2.7', '2.8', '2.9', '2.10', '2.11', '2.12', '2.13', '2.14', '3.1', '3.2', '3.3', '3.4', '3.5', '4.1', '4.3', '4.4', '4.5', '4.6', '5', '6.3', '7', '8', '9.3', '10.2', '10.3', '10.4', '12', '13']

for (const section of sections) {
  describe(`section ${section} of the published contracts`, () => {
    const examples = readExamples(published(), section)
    it('has examples', () => expect(examples.length).toBeGreaterThan(0))
    for (const example of examples) {
      const missing = missingNeeds(example)
      const title = `line ${example.line}: ${JSON.stringify(example.call)}`
      // In CI everything but the network is installed, so a skip there would hide a broken setup.
      const skip = missing.length > 0 && (!process.env.CI || missing.includes('net'))
      it.skipIf(skip)(skip ? `${title} (SKIPPED: needs ${missing.join(', ')})` : title, async () => {
        await runExample(example)
        const { code } = (example.error ?? {}) as { code?: string }
        if (code) seen.add(code)
      })
    }
  })
}
