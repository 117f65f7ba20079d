import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { findProgram, isForeign, isProgram, makeFolder, listSearchFolders } from '../../../core/system/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import { readSystemFile, createTempFolder } from '../base/index.js'
import { runProgram, createTail, type SandboxSettings } from '../process/index.js'
import {
  SANDBOX_TESTS,
  createTestScript,
  HOME_TESTS,
  LOGIN_TESTS,
  LOGIN_FILES,
  type SandboxTest,
} from './sandbox_tests.js'
import { confineCommand, type SandboxTools } from './launch.js'
import { prepareConfinement, type Confinement } from './profile.js'
import { listHomeNames, listSockets } from './mounts.js'

export type Sandbox = { tools: SandboxTools } | { missing: string }
/** Result of a test: an act that the sandbox must prevent, and whether it did. */
export interface SandboxTestResult {
  name: string
  held: boolean
  /** Details of what was reached. */
  found?: string[]
}

let foundTools: { path: string | undefined; tools: SandboxTools } | undefined
let probeResult: Promise<Sandbox> | undefined
let probedTools: SandboxTools | undefined

/**
 * Returns the tools of the sandbox, or why it is missing. bubblewrap must be installed outside the workspace and must
 * pass the tests, which run on the first call.
 */
export async function findSandbox(workspace: string): Promise<Sandbox> {
  if (
    probeResult &&
    foundTools?.path === process.env.PATH &&
    Object.values(foundTools!.tools).every((tool) => isProgram(tool) && !isForeign(tool))
  )
    return probeResult
  const found = findTools(workspace)
  if ('missing' in found) return found
  // The probed programs may belong to this workspace, if another kernel of this process probed them.
  if (probedTools && Object.values(probedTools).some((tool) => isForeign(tool))) probeResult = undefined
  if (!probeResult) probedTools = found.tools
  foundTools = { path: process.env.PATH, tools: found.tools }
  return (probeResult ??= probe(found.tools))
}

function findTools(workspace: string): Sandbox {
  if (process.platform !== 'linux') return { missing: 'the sandbox needs Linux' }
  const folders = listSearchFolders(process.env.PATH, workspace)
  const [env, bwrap, prlimit] = ['env', 'bwrap', 'prlimit'].map((name) => findProgram(name, folders))
  if (!bwrap) return { missing: 'bubblewrap (bwrap) is not installed' }
  // The shell of Debian distinguishes a signal from an exit code.
  const sh = findProgram('dash', ['/usr/bin', '/bin']) ?? findProgram('sh', ['/usr/bin', '/bin', ...folders])
  if (!env || !prlimit || !sh) return { missing: 'the programs env, prlimit and sh are not installed' }
  return { tools: { env, bwrap, prlimit, sh } }
}

async function probe(tools: SandboxTools): Promise<Sandbox> {
  const { attempts, problem } = await runTests(
    tools,
    SANDBOX_TESTS.filter(({ slow }) => !slow),
    createTestWorkspace,
  )
  const open = attempts.filter(({ held }) => !held).map(({ name }) => name)
  if (problem === undefined && open.length === 0) return { tools }
  return { missing: `the tests of bubblewrap failed: ${problem ?? `it does not prevent ${open.join(', ')}`}` }
}

/**
 * Runs every test in the sandbox, and lists the sockets that are visible in the workspace of a kernel under these
 * settings.
 */
export async function examineSandbox(
  kernel: Kernel,
  settings: Confinement['settings'],
): Promise<SandboxTestResult[] | { missing: string }> {
  const found = findTools(kernel.workspace)
  if ('missing' in found) return found
  const { tools } = found
  const done = [
    await runTests(tools, SANDBOX_TESTS, createTestWorkspace),
    await runTests(tools, LOGIN_TESTS, createSeparateHome),
    await runTests(tools, HOME_TESTS, createHomeWorkspace),
  ]
  const problem = done.find((one) => one.problem !== undefined)?.problem
  if (problem !== undefined) return { missing: `the tests of bubblewrap failed: ${problem}` }
  return [
    ...done.flatMap(({ attempts }) => attempts),
    await testSurvivors(tools),
    ...(await testSockets(tools, kernel, settings)),
  ]
}

const NO_ACCESS: Confinement['settings'] = {
  network: false,
  deny_read: [],
  deny_write: [],
  writable: [],
  readable: [],
} satisfies Omit<SandboxSettings, 'mode'>

interface TestRun {
  attempts: SandboxTestResult[]
  /** Reason why the tests did not finish. */
  problem?: string
}

async function runTests(
  tools: SandboxTools,
  some: readonly SandboxTest[],
  made: (folder: string) => Omit<Confinement, 'cwd' | 'shown'>,
): Promise<TestRun> {
  const outside = createTempFolder('probe')
  const folder = join(outside, 'workspace')
  try {
    mkdirSync(folder)
    writeFileSync(join(outside, 'secret'), 'secret')
    const where = await prepareConfinement({ ...made(folder), cwd: folder, shown: [] })
    const { text, errors, timedOut } = await runScript(tools, where, createTestScript(some), { OUTSIDE: outside })
    if (timedOut) return { attempts: [], problem: `the tests did not end within ${PROBE_SECONDS} s` }
    if (!text.endsWith('done\n'))
      return { attempts: [], problem: (text + errors).trim().slice(0, 200) || 'the shell did not start' }
    const isDone = (leaves: string | undefined): boolean => leaves !== undefined && existsSync(join(outside, leaves))
    const attempts = some.map(({ name, leftFile, explain }, index) => {
      const held = !text.includes(`open ${index}\n`) && !isDone(leftFile)
      const why = held ? undefined : explain?.()
      return { name, held, ...(why !== undefined && { found: [why] }) }
    })
    return { attempts }
  } finally {
    await rm(outside, { recursive: true, force: true })
  }
}

function createTestWorkspace(workspace: string): Omit<Confinement, 'cwd' | 'shown'> {
  const ours = {
    '.vtcode/spool/text': 'secret',
    '.vtcode/sessions/other/calls.jsonl': 'secret',
    'own/approvals.key': 'secret',
    'vtcode.config.yaml': '',
  }
  writeFiles(workspace, {
    '.git/HEAD': 'ref: refs/heads/main\n',
    '.git/config': '',
    '.git/hooks/sample': '',
    '.git/objects/x': '',
    '.git/refs/x': '',
    ...ours,
    'denied/key': 'secret',
    single: 'secret',
  })
  return {
    workspace,
    own: join(workspace, 'own'),
    writable: true,
    settings: { ...NO_ACCESS, deny_read: ['denied', join(workspace, 'single')] },
  }
}

const HOME_FILES = { ...Object.fromEntries(LOGIN_FILES.map((path) => [path, 'secret'])), '.bashrc': '' }

function createSeparateHome(workspace: string): Omit<Confinement, 'cwd' | 'shown'> {
  const home = join(workspace, '../home')
  writeFiles(home, HOME_FILES)
  return { workspace, home, own: join(home, '.vtcode'), writable: true, settings: NO_ACCESS }
}

function createHomeWorkspace(home: string): Omit<Confinement, 'cwd' | 'shown'> {
  writeFiles(home, HOME_FILES)
  return { workspace: home, home, own: join(home, '.vtcode'), writable: true, settings: NO_ACCESS }
}

function writeFiles(folder: string, files: Record<string, string>): void {
  for (const [name, text] of Object.entries(files)) {
    makeFolder(join(folder, name, '..'))
    writeFileSync(join(folder, name), text)
  }
}

/** A loaded machine takes minutes for work that takes an idle one two seconds. Interrupted tests prove nothing. */
const PROBE_SECONDS = 180

async function runScript(
  tools: SandboxTools,
  where: Confinement,
  script: string,
  more: Record<string, string> = {},
): Promise<{ text: string; errors: string; timedOut: boolean }> {
  const env = {
    PATH: '/usr/bin:/bin:/usr/sbin:/sbin',
    OUTSIDE_PID: String(process.pid),
    OUTSIDE_COMM: readSystemFile('/proc/self/comm').trim() || 'node',
    OUTSIDE_HOME: where.home ?? homedir(),
    KNOWN_IN_HOME: [...listHomeNames(homedir(), where.workspace), ...(where.gitConfig ? ['.gitconfig'] : [])].join(' '),
    KNOWN: '/run/current-system',
    ...more,
  }
  const launch = confineCommand(tools, { file: '/bin/sh', args: ['-c', script], cwd: '/', env }, where)
  const output = { out: createTail(65_536), err: createTail() }
  const ended = await runProgram(
    launch,
    { signal: new AbortController().signal, seconds: PROBE_SECONDS },
    output.out.take,
    output.err.take,
  )
  launch.readEnd(ended?.exit_code ?? null)
  return { text: output.out.text(), errors: output.err.text(), timedOut: ended?.timed_out === true }
}

/** Tests whether processes of a command outlive it in a session of their own. */
async function testSurvivors(tools: SandboxTools): Promise<SandboxTestResult> {
  const nap = `6${String(Math.random()).slice(2, 11)}`
  const folder = createTempFolder('probe')
  try {
    await runScript(
      tools,
      { workspace: folder, own: join(folder, '.vtcode'), writable: false, cwd: '/', shown: [], settings: NO_ACCESS },
      `setsid sleep ${nap} >/dev/null 2>&1 & sleep 0.1`,
    )
    await new Promise((resolve) => setTimeout(resolve, 300))
    const left = readdirSync('/proc').filter(
      (name) => /^\d+$/.test(name) && readSystemFile(`/proc/${name}/cmdline`).includes(`sleep\0${nap}`),
    )
    return {
      name: 'processes that outlive their command',
      held: left.length === 0,
      ...(left.length > 0 && { found: left }),
    }
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/**
 * Lists visible sockets. Those that the settings allow are named as well: sockets in readable paths, and all other
 * sockets if the network is on.
 */
async function testSockets(
  tools: SandboxTools,
  { workspace, inspection: { home } }: Kernel,
  settings: Confinement['settings'],
): Promise<SandboxTestResult[]> {
  const sockets = listSockets()
  const where = { workspace, own: home, writable: false, cwd: '/', shown: [], settings }
  const { text } = await runScript(
    tools,
    where,
    sockets.map((path, index) => `[ -S ${quoteShell(path)} ] && echo ${index}`).join('\n'),
  )
  const found = text.split('\n').flatMap((line) => (line === '' ? [] : [sockets[Number(line)]!]))
  if (settings.network) found.push('sockets without a file, because sandbox.network is on')
  return [{ name: 'sockets of the machine', held: found.length === 0, ...(found.length > 0 && { found }) }]
}

const quoteShell = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`
