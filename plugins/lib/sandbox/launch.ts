import { randomUUID } from 'node:crypto'
import { readFileSync, rmSync } from 'node:fs'
import { constants } from 'node:os'
import { join } from 'node:path'
import type { Launch } from '../../../core/shapes/index.js'
import { tempFolder } from '../base/index.js'
import { gitConfigDescriptor, homeInside, profile, type Confinement } from './profile.js'
import { taskGroup } from './task_group.js'

/** The programs that make a sandbox. */
export interface SandboxTools {
  env: string
  bwrap: string
  prlimit: string
  sh: string
}
/** How a command in the sandbox ended, beyond its exit code. */
export interface SandboxEnd {
  /** The signal that ended it; outside only the code 128 and its number is seen. */
  signal?: NodeJS.Signals
  /** Something that it started was still running. */
  children: boolean
}
/** A launch whose end can be asked for once the program has ended. */
export interface ConfinedLaunch extends Launch {
  end(exit_code: number | null): SandboxEnd
}

const most = { processes: 1024, bytes: 1_073_741_824, files: 1024 }
const signals = 'INT,QUIT,TSTP,TERM,HUP'

/**
 * A program as bubblewrap runs it: nothing of the machine is in sight or written but what is named, and nothing outlives it. The outer
 * process must outlive the signals that are meant for the command; its own end would be a SIGKILL for everything inside.
 */
export function confined(tools: SandboxTools, launch: Launch, where: Confinement): Launch {
  const limits = [
    tools.prlimit,
    `--nproc=${most.processes}`,
    `--fsize=${most.bytes}`,
    `--nofile=${most.files}`,
    '--core=0',
  ]
  return around(tools, launch, where, [
    ...limits,
    tools.env,
    `--default-signal=${signals}`,
    launch.file,
    ...launch.args,
  ])
}

/** The same for a command whose end is told exactly: by a shell inside, for bubblewrap tells a signal as a code and of children nothing. */
export function confinedCommand(tools: SandboxTools, launch: Launch, where: Confinement): ConfinedLaunch {
  const report = join((reports ??= tempFolder('sandbox')), randomUUID())
  const inner = [
    tools.sh,
    '-c',
    supervisor,
    'sh',
    tools.env,
    `--default-signal=${signals}`,
    launch.file,
    ...launch.args,
  ]
  return { ...around(tools, launch, where, inner, report), end: (exit_code) => endOf(report, exit_code) }
}

let reports: string | undefined

function around(tools: SandboxTools, launch: Launch, where: Confinement, inner: string[], report?: string): Launch {
  const { TMPDIR: _, ...env } = launch.env
  const box = [
    tools.bwrap,
    ...profile(where, [process.execPath, tools.env, tools.prlimit]),
    '--chdir',
    where.cwd,
    '--',
    ...inner,
  ]
  return {
    file: tools.sh,
    args: ['-c', outer, 'sh', taskGroup() ?? '', report ?? '', where.gitConfig ?? '', ...box],
    cwd: launch.cwd,
    env: { ...env, HOME: homeInside(where) },
  }
}

const outer = `trap '' ${signals.replaceAll(',', ' ')}
[ -z "$1" ] || { echo 0 >"$1"; } 2>/dev/null
[ -z "$2" ] || exec 9>"$2"
[ -z "$3" ] || exec ${gitConfigDescriptor}<<END
$3
END
shift 3
exec "$@"`

/**
 * Runs the command under limits and writes to descriptor 9 what its end was. What is left is given as long as outside to end by itself.
 * Nothing that the command writes gets there: its descriptors are closed before it starts.
 */
const supervisor = `exec 7<&0 8>&2 2>&9
ulimit -c 0; ulimit -n ${most.files}; ulimit -f ${most.bytes / 512}; ulimit -u ${most.processes} || ulimit -p ${most.processes}
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

function endOf(report: string, exit_code: number | null): SandboxEnd {
  let told = ''
  try {
    told = readFileSync(report, 'latin1')
    rmSync(report, { force: true })
  } catch {
    // It did not come to its start.
  }
  const children = /^children$/m.test(told)
  // A shell that forgets how its job ended says nothing; codes above 128 mostly mean a signal.
  const plain = /^\[1\].*\b(Done|Exit)\b/m.test(told)
  const signal = exit_code === null || exit_code <= 128 || plain ? undefined : signalNamed(exit_code - 128)
  return { children, ...(signal && { signal }) }
}

const signalNamed = (number: number): NodeJS.Signals | undefined =>
  (Object.entries(constants.signals) as [NodeJS.Signals, number][]).find(([, value]) => value === number)?.[0]
