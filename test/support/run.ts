import { spawnSync } from 'node:child_process'
import { mkdirSync, readdirSync, realpathSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { delimiter, dirname, join } from 'node:path'
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
  bypassPythonShim()
  return () => rm(run, { recursive: true, force: true, maxRetries: 12 })
}

/**
 * Replaces the folder of PATH in which a version manager puts a script in front of python3 by the folder of the program itself: the
 * script takes ten times as long as the start of Python.
 */
function bypassPythonShim(): void {
  const python = (code: string): string => spawnSync('sh', ['-c', code], { encoding: 'utf8' }).stdout.trim()
  const found = python('command -v python3')
  const program = found && python("python3 -c 'import sys; print(sys.executable)'")
  if (!program || dirname(program) === dirname(found)) return
  process.env['PATH'] = process.env['PATH']!.split(delimiter).map((folder) => (folder === dirname(found) ? dirname(program) : folder)).join(delimiter)
}

function lives(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}
