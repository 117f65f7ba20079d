import { realpathSync, rmSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { inside } from '../../../core/system/index.js'
import { programFile, type Kernel } from '../../../core/index.js'
import { createTempFolder } from '../../lib/base/index.js'
import { runShort } from '../../lib/process/index.js'
import {
  confineLaunch,
  findPackageRoot,
  listProgramPaths,
  findSandbox,
  prepareConfinement,
} from '../../lib/sandbox/index.js'
import type { Setting } from './bench.js'
import { surroundings } from './install.js'
import { noCounts, tryAll, type Tried } from './self_test.js'

const child = programFile('plugins/surface/plugins/validate_child.js')
const SECONDS = 900
const MAX_PRINTED = 1_048_576

/** What the process in the sandbox is told. */
export interface ConfinedTask {
  path: string
  surroundings: ReturnType<typeof surroundings>
}
export interface ConfinedOutcome {
  rows: Tried[]
  /** Why nothing held it: it ran with all rights of the user. */
  open?: string
  /** Why it did not run. */
  refused?: string
}

/**
 * Runs the examples of a plugin for real, in one sandbox: its commands, servers and modules see the plugin and this program, write a folder
 * that is cleared away, and reach the network where the plugin says that it does. Where there is no sandbox they run as they are, unless the settings require one.
 */
export async function runConfined(setting: Setting, kernel: Kernel): Promise<ConfinedOutcome> {
  const { plugins: use, ...limits } = kernel.settings.sandbox
  const found = use === 'off' ? { missing: 'sandbox.plugins is off' } : await findSandbox(kernel.workspace)
  if ('missing' in found)
    return use === 'required'
      ? { rows: [], refused: found.missing }
      : { rows: await tryAll(setting), ...(use !== 'off' && { open: found.missing }) }
  const { io, inspection } = setting
  const folder = realpathSync(createTempFolder('validate'))
  try {
    const task: ConfinedTask = { path: setting.path, surroundings: surroundings({ kernel, io }) }
    const launch = {
      file: process.execPath,
      args: ['--no-warnings', child, JSON.stringify({ ...task, surroundings: { ...task.surroundings, env: {} } })],
      cwd: folder,
      env: { PATH: io.env['PATH'] ?? '' },
    }
    const settings = { ...limits, network: reachesOut(inspection) }
    const shown = [...listProgramPaths(), shownOf(setting.path, io.env['HOME'] ?? '/')]
    const { file, args, env } = confineLaunch(
      found.tools,
      launch,
      await prepareConfinement({
        workspace: folder,
        own: kernel.inspection.home,
        writable: true,
        cwd: folder,
        settings,
        shown,
      }),
    )
    const ended = await runShort(
      { file, args, cwd: folder, env: env as Record<string, string> },
      { signal: io.signal, seconds: SECONDS, most: MAX_PRINTED, socket: true },
    )
    const rows = reportIn(ended?.aside)
    if (rows) return { rows }
    const why = ended?.stderr.subarray(-2_048).toString().trim()
    return { rows: [], refused: `they did not come to an end in the sandbox${why ? `: ${why}` : ''}` }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** What the process in the sandbox sent before its end. What a plugin of it broke off, or sends from within, may be of any form. */
function reportIn(sent: Buffer | undefined): Tried[] | undefined {
  try {
    const rows = JSON.parse((sent ?? '').toString()) as unknown
    return Array.isArray(rows) && rows.every(isTried) ? rows : undefined
  } catch {
    return undefined
  }
}

function isTried(row: unknown): row is Tried {
  const { id, examples, errors } = Object(row) as { [key in keyof Tried]: unknown }
  const counts = Object(examples) as Record<string, unknown>
  return (
    typeof id === 'string' &&
    Array.isArray(errors) &&
    errors.every((text) => typeof text === 'string') &&
    Object.keys(noCounts()).every((name) => typeof counts[name] === 'number')
  )
}

/** A manifest alone brings its folder along, unless that holds the whole home of the user. */
function shownOf(path: string, home: string): string {
  const real = realpathSync(path)
  const folder = statSync(real).isDirectory() ? real : dirname(real)
  return inside(folder, home) ? real : findPackageRoot(folder)
}

const reachesOut = ({ contributions }: Setting['inspection']): boolean =>
  contributions.some(
    ({ kind, manifest }) =>
      kind === 'provider' ||
      manifest.http !== undefined ||
      manifest.mcp !== undefined ||
      (manifest.effects ?? []).includes('net'),
  )
