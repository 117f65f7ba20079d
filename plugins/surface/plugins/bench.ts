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
import { dataKeys } from '../../../core/schema/index.js'
import { createTempFolder } from '../../lib/base/index.js'

export interface Setting {
  path: string
  inspection: Inspection
  /** May code of the plugin run? */
  run: boolean
  io: Io
  /** This process is in a sandbox, which holds whatever it starts. */
  confined?: boolean
}

/** Works with the plugin in a fresh workspace with these files, and clears everything away. */
export async function onBench<T>(
  { path, inspection, run, io, confined = false }: Setting,
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
      run || surface !== 'validate' ? [] : inspection.contributions.filter(executes).map(({ name }) => `*:${name}`)
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

/** Runs as soon as it is there, or as soon as any call is judged. Handlers wait for their own call. */
export const executes = (contribution: Contribution): boolean =>
  (contribution.kind !== 'action' && contribution.manifest.module !== undefined) ||
  contribution.manifest.mcp !== undefined ||
  foreignKey(contribution) !== undefined

/** The slot that a contribution serves, also where its server has not been asked for the input yet. */
export const slotMeant = ({ kind, slot, name, manifest: { action, mcp } }: Contribution): string | undefined =>
  slot ?? (kind === 'action' && mcp?.['tool'] !== undefined ? (action ?? name) : undefined)

/** The key that an adapter of somebody else serves. */
export const foreignKey = ({ kind, manifest }: Contribution): string | undefined =>
  kind === 'action' ? dataKeys(manifest).find((key) => !['run', 'http', 'mcp'].includes(key)) : undefined

/** Lists the slots of the plugin and of the program; nothing of the plugin runs. */
export const slotsOnBench = (setting: Setting): Promise<SlotInfo[]> =>
  onBench(setting, {}, {}, async (kernel) => kernel.list(), 'plugins')

/** What comes of importing every module of the plugin. */
export const probe = (setting: Setting): Promise<Diagnostic[]> =>
  onBench(setting, {}, {}, async (kernel) =>
    (await kernel.inspection.loadModules()).filter(
      ({ severity, files }) => severity === 'error' && files.some((file) => file.startsWith(setting.inspection.root)),
    ),
  )
