import { createCompiler } from '../../../core/trust/index.js'

/** Loads the test files of a plugin; `node:test` runs their tests. */
async function loadTests(files: readonly string[]): Promise<void> {
  for (const file of files) await (await createCompiler(file)).import(file)
}

void loadTests(process.argv.slice(2))
