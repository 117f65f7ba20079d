import { execFileSync, spawnSync } from 'node:child_process'
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, delimiter, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'
import { diskFolderOfRun, folderOfRun, sweepRun } from '../run/sweep.mjs'

declare module 'vitest' {
  interface ProvidedContext {
    /** The folder of this run, where each test file has one of its own. */
    run: string
    /** A folder of this run outside of memory. */
    disk: string
  }
}

/** Makes the folder of the run and removes what killed runs left; in the end ends and reports what tests left running. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const run = folderOfRun(process.pid)
  for (const name of readdirSync(dirname(run))) {
    const pid = Number(/^vtcode-run-(\d+)$/.exec(name)?.[1])
    if (name === basename(run) || (pid && !isAlive(pid))) await sweepRun(pid)
  }
  for (const name of ['seen', 'missing']) mkdirSync(join(run, name), { recursive: true })
  project.provide('run', run)
  const disk = diskFolderOfRun(process.pid)
  mkdirSync(disk, { recursive: true })
  project.provide('disk', disk)
  copyFileSync(compileProgram(), join(run, 'program'))
  provideProgram()
  bypassPythonShim()
  return async () => {
    const missing = readdirSync(join(run, 'missing')).sort()
    if (missing.length > 0)
      console.error(
        `\nTests were skipped because these programs are not installed: ${missing.join(', ')}. With CI=1 such a test fails.`,
      )
    const left = await sweepRun(process.pid)
    if (left.length === 0) return
    console.error(
      `\n${left.length} processes of tests were still running:\n${left.map((command) => `  ${command.slice(0, 200)}`).join('\n')}`,
    )
    process.exitCode = 1
  }
}

/** Compiles the program once per build, so that not every worker has to; returns the file with the result. */
function compileProgram(): string {
  const build = fileURLToPath(new URL('../../build/', import.meta.url))
  // The stamp of a build names its sources and the version of Node.
  const file = join(build, `compiled-${readFileSync(join(build, '.stamp'), 'utf8').slice(0, 16)}`)
  if (existsSync(file)) return file
  for (const name of readdirSync(build)) if (name.startsWith('compiled-')) rmSync(join(build, name))
  execFileSync(process.execPath, [fileURLToPath(new URL('compile.mjs', import.meta.url)), file], { stdio: 'inherit' })
  return file
}

/**
 * Replaces the folder of PATH in which a version manager puts a script in front of python3 by the folder of the program itself: the
 * script takes ten times as long as the start of Python.
 */
function bypassPythonShim(): void {
  // Without a shell there is no output.
  const print = (code: string): string => spawnSync('sh', ['-c', code], { encoding: 'utf8' }).stdout?.trim() ?? ''
  const found = print('command -v python3')
  const program = found && print("python3 -c 'import sys; print(sys.executable)'")
  if (!program || dirname(program) === dirname(found)) return
  process.env['PATH'] = process.env['PATH']!.split(delimiter)
    .map((folder) => (folder === dirname(found) ? dirname(program) : folder))
    .join(delimiter)
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** Puts the program next to the rooms in build/: a room that starts it, such as the schedule, looks there. */
function provideProgram(): void {
  const file = fileURLToPath(new URL('../../build/core/bin.cjs', import.meta.url))
  if (existsSync(file)) return
  const whole = `${file}.${process.pid}`
  writeFileSync(whole, "require('../../dist/core/bin.cjs')\n")
  renameSync(whole, file)
}
