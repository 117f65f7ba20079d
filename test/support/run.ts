import { mkdirSync, readdirSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { folderOfRun, sweepRun } from '../run/sweep.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of this run, where each worker and each test file has one of its own. */
    run: string
  }
}

/** Makes the folder of the run and removes what killed runs left; in the end ends and reports what tests left running. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = folderOfRun(process.pid)
  for (const name of readdirSync(dirname(run))) {
    const pid = Number(/^vtcode-run-(\d+)$/.exec(name)?.[1])
    if (name === basename(run) || (pid && !isAlive(pid))) await sweepRun(pid)
  }
  mkdirSync(join(run, 'seen'), { recursive: true })
  project.provide('run', run)
  return async () => {
    const left = await sweepRun(process.pid)
    if (left.length === 0) return
    console.error(`\n${left.length} processes of tests were still running:\n${left.map((command) => `  ${command.slice(0, 200)}`).join('\n')}`)
    process.exitCode = 1
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
