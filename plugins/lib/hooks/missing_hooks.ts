import { createDiagnostic, type Diagnostic } from '../../../core/shapes/index.js'
import type { Kernel } from '../../../core/contract/index.js'
import type { HookBlock } from './entries.js'
import { findMissingScript } from './missing_script.js'
import { describeHook } from './run_hook.js'

/** Returns the hooks of the settings whose script does not exist. Packages are checked when they are installed. */
const listMissingScripts = (block: HookBlock, folder: string): { hook: string; path: string }[] =>
  Object.values(block).flatMap((groups) =>
    groups
      .filter(({ by }) => !by)
      .flatMap(({ hooks = [] }) => hooks)
      .flatMap((entry) => {
        if (typeof entry.command !== 'string') return []
        const texts = (entry.args ?? []).filter((one) => typeof one === 'string')
        const path = findMissingScript(entry.args ? [entry.command, ...texts] : entry.command, folder)
        return path === undefined ? [] : [{ hook: describeHook(entry), path }]
      }),
  )

/** Lists the hooks of the settings whose script does not exist, as faults for a person to fix. */
export const listHookFaults = ({ settings, workspace }: Kernel): Diagnostic[] =>
  listMissingScripts((settings.hooks ?? {}) as HookBlock, workspace).map((missing) =>
    createDiagnostic('VT_HOOK_MISSING', missing, []),
  )
