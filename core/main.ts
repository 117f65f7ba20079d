import { fstatSync, statSync } from 'node:fs'
import { devNull } from 'node:os'
import { isatty } from 'node:tty'
import { saveCompiled } from './cli/index.js'
import { onUncaughtError } from './contract/index.js'
import { INTERRUPTED, ProgramRun } from './program_run.js'

// The program as a process: its signals, its streams and its exit code.

const stop = new AbortController()
/** Time for programs, servers and sessions to end when the process ends abnormally. */
const CLOSE_TIMEOUT_MS = 2000

// One key press may arrive twice, from the terminal and from the parent program.
// A second press soon afterwards ends the process at once.
const SAME_PRESS_MS = 200
const SECOND_PRESS_MS = 1000
const SUSPEND_SETTLE_MS = 20
let pressed = -Infinity
let cancelling = false
let interruptHandler: (() => boolean) | undefined
process.on('SIGINT', () => {
  const since = performance.now() - pressed
  if (since < SAME_PRESS_MS) return
  pressed = performance.now()
  if (stop.signal.aborted || (cancelling && since < SECOND_PRESS_MS)) process.exit(INTERRUPTED)
  cancelling = interruptHandler ? interruptHandler() : true
  if (!interruptHandler) stop.abort()
})
// A stopped process gives a terminal in raw mode back to the shell, and takes it again when it continues.
if (isTerminal()) process.on('SIGTSTP', suspend)
for (const signal of ['SIGTERM', 'SIGHUP'] as const) process.on(signal, () => stop.abort())
// A reader that closes the pipe ends the work; this is no error.
process.stdout.on('error', () => stop.abort())
process.stderr.on('error', () => {})

/** Runs the program and ends the process. `front` is what the front of the verb returned, if it has one. */
export async function startProgram(front: unknown): Promise<never> {
  const program = new ProgramRun({
    get stdin() {
      return process.stdin
    },
    stdout: process.stdout,
    stderr: process.stderr,
    env: process.env,
    signal: stop.signal,
    onInterrupt: (handler) => void (interruptHandler = handler),
    front,
  })
  // An uncaught error ends the process as a failure of its verb does; Node restores the terminal as it exits.
  onUncaughtError((error) => {
    const code = program.report(error)
    const exit = (): never => process.exit(code)
    setTimeout(exit, CLOSE_TIMEOUT_MS)
    program.close().then(exit, exit)
  })
  const code = await program.run(process.argv.slice(2))
  await flushOutput()
  saveCompiled()
  return process.exit(stop.signal.aborted ? INTERRUPTED : code)
}

/** Returns whether a person types. Checking for a file or a pipe first avoids loading the terminal's module. */
function isTerminal(): boolean {
  const input = fstatSync(0)
  return input.isCharacterDevice() && input.rdev !== statSync(devNull, { throwIfNoEntry: false })?.rdev && isatty(0)
}

function suspend(): void {
  const { isRaw } = process.stdin
  const listening = !process.stdin.isPaused()
  process.stdin.setRawMode(false)
  process.off('SIGTSTP', suspend)
  process.kill(process.pid, 'SIGTSTP')
  // The process stops here; the system does not stop a process without a parent that could continue it.
  setTimeout(() => {
    process.on('SIGTSTP', suspend)
    if (isRaw) process.stdin.setRawMode(true)
    if (listening) process.stdin.resume()
  }, SUSPEND_SETTLE_MS)
}

/** Resolves when everything written to stdout has been flushed. */
function flushOutput(): Promise<void> {
  return new Promise((resolve) =>
    process.stdout.writableLength === 0 || stop.signal.aborted ? resolve() : process.stdout.write('', () => resolve()),
  )
}
