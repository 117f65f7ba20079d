import { join } from 'node:path'
import { blocksOf, optionsOf } from './context.js'
import type { OnFault } from './faults.js'
import type { Contribution, Premises, Settings } from './types.js'

export interface Standing {
  settings: Settings
  workspace: string
  home: string
  looking: boolean
  env: Record<string, string | undefined>
  report: OnFault
  renew: () => void
  refuse: Premises['refuse']
  remark: Premises['remark']
  quarantine: Premises['quarantine']
  rightsOf: Premises['rightsOf']
  log: (level: string, message: string) => void
}

/** What the adapters of one generation stand on, and its end. */
export function premisesOf({ settings, workspace, home, looking, env, report, renew, refuse, remark, quarantine, rightsOf, log }: Standing): { of(adapter: Contribution): Premises; end(): Promise<void> } {
  const endings = new Set<() => void | Promise<void>>()
  let ended = false
  const shared = {
    workspace,
    home,
    looking,
    env,
    report,
    refuse,
    remark,
    quarantine,
    rightsOf,
    dataOf: (contribution: Contribution) => dataFolder(contribution, home, workspace),
    optionsOf: (contribution: Contribution) => optionsOf(settings, contribution),
    onEnd: (run: () => void | Promise<void>) => (ended ? void run() : void endings.add(run)),
    renew: () => ended || renew(),
  }
  const made = new Map<Contribution, Premises>()
  const make = (adapter: Contribution): Premises => ({ ...shared, settings: blocksOf(settings, adapter), log: (level, message) => log(level, `${adapter.id}: ${message}`) })
  return {
    of(adapter) {
      if (!made.has(adapter)) made.set(adapter, make(adapter))
      return made.get(adapter)!
    },
    async end() {
      ended = true
      await Promise.allSettled([...endings].map(async (run) => run()))
      endings.clear()
    },
  }
}

/** Each installed instance of a plugin has its own: those of a workspace are apart from the user's and from other workspaces'. */
export function dataFolder({ plugin, layer }: Pick<Contribution, 'plugin' | 'layer'>, home: string, workspace: string): string {
  const { createHash } = process.getBuiltinModule('node:crypto')
  const instance = createHash('sha256').update(layer === 'workspace' ? workspace : 'user').digest('hex').slice(0, 12)
  return join(home, 'plugin-data', `${plugin}-${instance}`)
}
