import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../../../core/shapes/index.js'
import { createTempFolder } from '../base/index.js'
import { GIT_CONFIG_DESCRIPTOR, resolveInnerHome, createProfile, type Confinement } from './profile.js'
import { openTaskGroup } from './task_group.js'

/** Programs that create a sandbox. */
export interface SandboxTools {
  env: string
  bwrap: string
  prlimit: string
  sh: string
}
/** End of a command in the sandbox, beyond its exit code. */
export interface SandboxEnd {
  /** Signal that ended the command; the exit code alone shows 128 plus its number. */
  signal?: NodeJS.Signals
  /** True if processes of the command were still running. */
  children: boolean
}
/** Launch whose end can be read after the program has ended. */
export interface ConfinedLaunch extends Launch {
  readEnd(exit_code: number | null): SandboxEnd
}

const LIMITS = { processes: 1024, bytes: 1_073_741_824, files: 1024 }
const SIGNALS = 'INT,QUIT,TSTP,TERM,HUP'

/**
 * Wraps a program with bubblewrap: only named paths are visible or writable, and no process outlives it. The outer
 * process must survive signals for the command, because its own end would send SIGKILL to everything inside.
 */
export function confineLaunch(tools: SandboxTools, launch: Launch, where: Confinement): Launch {
  const limits = [
    tools.prlimit,
    `--nproc=${LIMITS.processes}`,
    `--fsize=${LIMITS.bytes}`,
    `--nofile=${LIMITS.files}`,
    '--core=0',
  ]
  return wrapLaunch(tools, launch, where, [
    ...limits,
    tools.env,
    `--default-signal=${SIGNALS}`,
    launch.file,
    ...launch.args,
  ])
}

/**
 * Confines a command and reports its exact end through a shell inside. bubblewrap itself reports a signal as an exit
 * code, and nothing about children.
 */
export function confineCommand(tools: SandboxTools, launch: Launch, where: Confinement): ConfinedLaunch {
  const report = join((reportFolder ??= createTempFolder('sandbox')), randomUUID())
  const inner = [
    tools.sh,
    '-c',
    SUPERVISOR_SCRIPT,
    'sh',
    tools.env,
    `--default-signal=${SIGNALS}`,
    launch.file,
    ...launch.args,
  ]
  return { ...wrapLaunch(tools, launch, where, inner, report), readEnd: (exit_code) => readReport(report, exit_code) }
}

let reportFolder: string | undefined

function wrapLaunch(tools: SandboxTools, launch: Launch, where: Confinement, inner: string[], report?: string): Launch {
  const { TMPDIR: _, ...env } = launch.env
  const box = [
    tools.bwrap,
    ...createProfile(where, [process.execPath, tools.env, tools.prlimit]),
    '--chdir',
    where.cwd,
    '--',
    ...inner,
  ]
  return {
    file: tools.sh,
    args: ['-c', OUTER_SCRIPT, 'sh', openTaskGroup() ?? '', report ?? '', where.gitConfig ?? '', ...box],
    cwd: launch.cwd,
    env: { ...env, HOME: resolveInnerHome(where) },
  }
}

const OUTER_SCRIPT = `trap '' ${SIGNALS.replaceAll(',', ' ')}
[ -z "$1" ] || { echo 0 >"$1"; } 2>/dev/null
[ -z "$2" ] || exec 9>"$2"
[ -z "$3" ] || exec ${GIT_CONFIG_DESCRIPTOR}<<END
$3
END
shift 3
exec "$@"`

/**
 * Runs the command under limits and writes its end to descriptor 9. Remaining processes get as long as outside the
 * sandbox to end. The command cannot write to the report, because the descriptor is closed before it starts.
 */
const SUPERVISOR_SCRIPT = `exec 7<&0 8>&2 2>&9
ulimit -c 0; ulimit -n ${LIMITS.files}; ulimit -f ${LIMITS.bytes / 512}
ulimit -u ${LIMITS.processes} || ulimit -p ${LIMITS.processes}
(exec <&7 2>&8 7<&- 8>&- 9>&-; exec "$@") &
exec </dev/null 7<&- 8>&-
wait $!
code=$?
[ $code -le 128 ] || jobs >&2
for round in 1 2 3 4 5; do
  set -- /proc/[0-9]*
  [ $# -gt 2 ] || exit $code
  sleep 0.05
done
echo children >&2
exit $code`

function readReport(report: string, exit_code: number | null): SandboxEnd {
  let text = ''
  try {
    text = readFileSync(report, 'latin1')
    rmSync(report, { force: true })
  } catch {
    // The command did not start.
  }
  const children = /^children$/m.test(text)
  // A shell may print nothing about its job; a code above 128 mostly means a signal.
  const plain = /^\[1\].*\b(Done|Exit)\b/m.test(text)
  const signal = exit_code === null || exit_code <= 128 || plain ? undefined : findSignal(exit_code - 128)
  return { children, ...(signal && { signal }) }
}

const findSignal = (number: number): NodeJS.Signals | undefined =>
  (Object.entries(constants.signals) as [NodeJS.Signals, number][]).find(([, value]) => value === number)?.[0]
