// Fails when a test of the report (vitest's JSON) was skipped: where everything is installed, only the open internet may be missing.
import { readFileSync } from 'node:fs'

const { testResults, numTotalTests } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const skipped = testResults
  .flatMap(({ assertionResults }) => assertionResults)
  .filter(({ status, fullName }) => status !== 'passed' && !fullName.endsWith('(SKIPPED: needs net)'))
for (const { fullName, status } of skipped) console.error(`${status}: ${fullName}`)
console.log(`${numTotalTests} tests, ${skipped.length} of them not passed`)
process.exit(skipped.length === 0 && numTotalTests > 0 ? 0 : 1)
