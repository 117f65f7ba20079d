import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { knownCodes, seenIn } from './codes.js'

/** Fails a whole run if no test saw one of the codes: an unseen code is untested. */
export default function setup(project: TestProject): () => Promise<void> {
  return async () => {
    const { files, codes } = seenIn(join(project.getProvidedContext().run, 'seen'))
    const { testFiles } = await project.globTestFiles()
    // A part of the tests provokes a part of the codes.
    if (project.config.testNamePattern || testFiles.some((file) => !files.has(file))) return
    const missing = knownCodes().filter((code) => !codes.has(code))
    if (missing.length === 0) return
    console.error(
      `\nNo test saw these codes in a result: ${missing.join(', ')}. Write one that provokes them and expects them by name.`,
    )
    process.exitCode = 1
  }
}
