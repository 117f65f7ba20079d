import { mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of this run, where each test file has one of its own. */
    run: string
  }
}

/** Makes the folder of the run, takes away what killed runs left, and in the end itself. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const place = realpathSync(tmpdir())
  const run = join(place, `vtcode-run-${process.pid}`)
  for (const name of readdirSync(place)) {
    const pid = Number(/^vtcode-run-(\d+)$/.exec(name)?.[1])
    if (pid === process.pid || (pid && !lives(pid))) await rm(join(place, name), { recursive: true, force: true, maxRetries: 12 })
  }
  mkdirSync(join(run, 'seen'), { recursive: true })
  project.provide('run', run)
  return () => rm(run, { recursive: true, force: true, maxRetries: 12 })
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
