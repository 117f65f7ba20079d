import { mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { toText } from '../../../core/text/index.js'
import {
  createKernel,
  type Config,
  type Contribution,
  type Diagnostic,
  type Io,
  type JsonObject,
  type Kernel,
  type SlotInfo,
} from '../../../core/index.js'
import type { Inspection } from '../../../core/manifests/index.js'
import { listAdapterKeys } from '../../../core/schema/index.js'
import { createTempFolder } from '../../lib/base/index.js'

export interface PluginTrial {
  path: string
  inspection: Inspection
  /** True if code of the plugin may run. */
  run: boolean
  io: Io
  /** True if this process runs in a sandbox, which also confines its child processes. */
  confined?: boolean
}

/** Runs `work` with the plugin in a new workspace that holds `files`, then removes the workspace. */
export async function withTrialKernel<T>(
  { path, inspection, run, io, confined = false }: PluginTrial,
  files: JsonObject,
  config: Config,
  work: (kernel: Kernel) => Promise<T>,
  surface = 'validate',
): Promise<T> {
  const folder = realpathSync(createTempFolder('example'))
  try {
    const [workspace, home] = [join(folder, 'ws'), join(folder, 'home')]
    mkdirSync(workspace)
    mkdirSync(home)
    for (const [name, text] of Object.entries(files)) {
      const file = resolve(workspace, name)
      if (!file.startsWith(`${workspace}/`)) throw new Error(`'${name}' leads out of the workspace of the example`)
      makeFolder(dirname(file))
      writeFileSync(file, toText(text))
    }
    const except =
      run || surface !== 'validate' ? [] : inspection.contributions.filter(hasEagerCode).map(({ name }) => `*:${name}`)
    const kernel = await createKernel({
      workspace,
      home,
      env: { PATH: io.env['PATH'], HOME: home, VTCODE_HOME: join(home, '.vtcode') },
      mode: 'full-auto',
      surface,
      config: {
        automation: { full_auto: { enabled: true, allowed_tools: ['read', 'write', 'exec', 'net', 'ask'] } },
        tools: { max_repeated_tool_calls: 0 },
        ...(confined && { sandbox: { mode: 'off', plugins: 'off' } }),
        ...config,
        manifests: ['builtin', { from: path, except }, ...(config.manifests ?? [])],
      },
    })
    try {
      return await work(kernel)
    } finally {
      await kernel.close()
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks whether code of a contribution runs on loading or for any call. Handlers run for their own calls only. */
export const hasEagerCode = (contribution: Contribution): boolean =>
  (contribution.kind !== 'action' && contribution.manifest.module !== undefined) ||
  contribution.manifest.mcp !== undefined ||
  findAdapterKey(contribution) !== undefined

/** Returns the slot that a contribution serves, also before its server has reported the input. */
export const resolveSlotName = ({ kind, slot, name, manifest: { action, mcp } }: Contribution): string | undefined =>
  slot ?? (kind === 'action' && mcp?.['tool'] !== undefined ? (action ?? name) : undefined)

/** Returns the key that an adapter of another plugin serves. */
export const findAdapterKey = ({ kind, manifest }: Contribution): string | undefined =>
  kind === 'action' ? listAdapterKeys(manifest).find((key) => !['run', 'http', 'mcp'].includes(key)) : undefined

/** Lists the slots of the plugin and of the program without running the plugin. */
export const listTrialSlots = (trial: PluginTrial): Promise<SlotInfo[]> =>
  withTrialKernel(trial, {}, {}, async (kernel) => kernel.list(), 'plugins')

/** Imports every module of the plugin and returns the errors. */
export const findImportErrors = (trial: PluginTrial): Promise<Diagnostic[]> =>
  withTrialKernel(trial, {}, {}, async (kernel) =>
    (await kernel.inspection.loadModules()).filter(
      ({ severity, files }) => severity === 'error' && files.some((file) => file.startsWith(trial.inspection.root)),
    ),
  )
