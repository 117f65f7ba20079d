import { realpathSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { cleanSearchPath, isInside } from '../../../core/system/index.js'
import { programFile, type Kernel } from '../../../core/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { runShort } from '../../lib/process/index.js'
import {
  confineLaunch,
  findImportRoot,
  listProgramPaths,
  findSandbox,
  prepareConfinement,
} from '../../lib/sandbox/index.js'
import type { PluginTrial } from './trial_kernel.js'
import { createInspectContext } from './install.js'
import { createCounts, runExamples, type ExampleReport } from './self_test.js'

const CHILD_FILE = programFile('plugins/surface/plugins/validate_child.js')
const TIMEOUT_SECONDS = 900
const MAX_PRINTED_BYTES = 1_048_576

/** The argument of the process in the sandbox. */
export interface ConfinedTask {
  path: string
  context: ReturnType<typeof createInspectContext>
}
export interface ConfinedOutcome {
  rows: ExampleReport[]
  /** The reason why the examples ran without a sandbox, with all rights of the user. */
  unconfined?: string
  /** The reason why the examples did not run. */
  notRunReason?: string
}

/**
 * Executes the examples of a plugin in one sandbox. They can read the plugin and this program, write a temporary
 * folder, and use the network where the plugin declares it. Without a sandbox they run unconfined, unless the
 * settings require one.
 */
export async function runConfined(trial: PluginTrial, kernel: Kernel): Promise<ConfinedOutcome> {
  const { plugins: pluginMode, ...limits } = kernel.settings.sandbox
  const found = pluginMode === 'off' ? { missing: 'sandbox.plugins is off' } : await findSandbox(kernel.workspace)
  if ('missing' in found)
    return pluginMode === 'required'
      ? { rows: [], notRunReason: found.missing }
      : { rows: await runExamples(trial), ...(pluginMode !== 'off' && { unconfined: found.missing }) }
  const { io, inspection } = trial
  const folder = realpathSync(createTempFolder('validate'))
  try {
    const task: ConfinedTask = { path: trial.path, context: createInspectContext({ kernel, io }) }
    const launch = {
      file: process.execPath,
      args: ['--no-warnings', CHILD_FILE, JSON.stringify({ ...task, context: { ...task.context, env: {} } })],
      cwd: folder,
      env: { PATH: cleanSearchPath(io.env['PATH'] ?? '') },
    }
    const settings = { ...limits, network: hasNetworkAccess(inspection) }
    const readable = [...listProgramPaths(), resolveVisiblePath(trial.path, io.env['HOME'] ?? '/')]
    const { file, args, env } = confineLaunch(
      found.tools,
      launch,
      await prepareConfinement({
        workspace: folder,
        own: kernel.inspection.home,
        writable: true,
        cwd: folder,
        settings,
        shown: readable,
      }),
    )
    const ended = await runShort(
      { file, args, cwd: folder, env: env as Record<string, string> },
      { signal: io.signal, seconds: TIMEOUT_SECONDS, most: MAX_PRINTED_BYTES, socket: true },
    )
    const rows = parseReport(ended?.socketOutput)
    if (rows) return { rows }
    const complaints = ended?.stderr.subarray(-2_048).toString().trim()
    return { rows: [], notRunReason: `they did not finish in the sandbox${complaints ? `: ${complaints}` : ''}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Parses the report of the process in the sandbox. A plugin may have cut or forged it. */
function parseReport(sent: Buffer | undefined): ExampleReport[] | undefined {
  try {
    const rows = JSON.parse((sent ?? '').toString()) as unknown
    return Array.isArray(rows) && rows.every(isTried) ? rows : undefined
  } catch {
    return undefined
  }
}

function isTried(row: unknown): row is ExampleReport {
  const { id, examples, errors } = Object(row) as { [key in keyof ExampleReport]: unknown }
  const counts = Object(examples) as Record<string, unknown>
  return (
    typeof id === 'string' &&
    Array.isArray(errors) &&
    errors.every((text) => typeof text === 'string') &&
    Object.keys(createCounts()).every((name) => typeof counts[name] === 'number')
  )
}

/** Returns the path that the sandbox shows: for a single manifest its package, unless that contains the user's home. */
function resolveVisiblePath(path: string, home: string): string {
  const real = realpathSync(path)
  const folder = statSync(real).isDirectory() ? real : dirname(real)
  return isInside(folder, home) ? real : findImportRoot(folder)
}

const hasNetworkAccess = ({ contributions }: PluginTrial['inspection']): boolean =>
  contributions.some(
    ({ kind, manifest }) =>
      kind === 'provider' ||
      manifest.http !== undefined ||
      manifest.mcp !== undefined ||
      (manifest.effects ?? []).includes('net'),
  )
