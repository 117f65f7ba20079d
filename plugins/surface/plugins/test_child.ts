import { compilerFor } from '../../../core/trust/index.js'

/** Tests of a plugin: each file is loaded, and `node:test` runs what it declares. */
async function loadTests(files: readonly string[]): Promise<void> {
  for (const file of files) await (await compilerFor(file)).import(file)
}

void loadTests(process.argv.slice(2))
