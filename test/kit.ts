/**
 * `vtcode/test`: helpers of the project's own tests, for the tests of any plugin. It needs no test framework: helpers
 * throw `AssertionError`s, tables are lists of `{ title, run }`.
 *
 *     for (const { title, run } of testAction('unified_search/grep', { manifests: ['./acme_grep.yaml'] })) it(title, run)
 */
export { bootKernel, tempWorkspace, type Boot, type Booted, type Files, type TempWorkspace } from './kit/workspace.js'
export { matches } from './kit/matches.js'
export { readExamples, type Example } from './kit/examples.js'
export { checkOutput, outputSchema } from './kit/outputs.js'
export { fixtureW, published, runExample } from './kit/run.js'
export { missingNeeds } from './kit/needs.js'
export { testAction, type Case } from './kit/action.js'
