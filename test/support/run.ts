import { mkdirSync, readdirSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { knownCodes, seenIn } from './codes.js'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of this run, where each test file has one of its own. */
    run: string
  }
}

/** Around all test files: makes the folder of the run, takes away what killed runs left, and ends a whole run that provoked too little. */
export default function setup(project: TestProject): () => Promise<void> {
  const place = realpathSync(tmpdir())
  const run = join(place, `vtcode-run-${process.pid}`)
  for (const name of readdirSync(place)) {
    const pid = Number(/^vtcode-run-(\d+)$/.exec(name)?.[1])
    if (pid === process.pid || (pid && !lives(pid))) rmSync(join(place, name), { recursive: true, force: true, maxRetries: 3 })
  }
  mkdirSync(join(run, 'seen'), { recursive: true })
  project.provide('run', run)
  return async () => {
    const { files, codes } = seenIn(join(run, 'seen'))
    const { testFiles } = await project.globTestFiles()
    rmSync(run, { recursive: true, force: true, maxRetries: 3 })
    // A part of the tests provokes a part of the codes.
    if (project.config.testNamePattern || testFiles.some((file) => !files.has(file))) return
    const missing = knownCodes().filter((code) => !codes.has(code))
    if (missing.length === 0) return
    console.error(`\nNo test saw these codes in a result: ${missing.join(', ')}. Write one that provokes them and expects them by name.`)
    process.exitCode = 1
  }
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
