import { blocksOf, dataFolder, optionsOf, type Contribution, type Settings, type Waits } from '../base/index.js'
import type { Premises } from './types.js'
import type { OnFault } from './uncaught.js'

export interface Standing {
  settings: Settings
  workspace: string
  home: string
  looking: boolean
  env: Record<string, string | undefined>
  waits: Waits
  report: OnFault
  renew: () => void
  refuse: Premises['refuse']
  remark: Premises['remark']
  quarantine: Premises['quarantine']
  rightsOf: Premises['rightsOf']
  log: (level: string, message: string) => void
}

/** What the adapters of one generation stand on, and its end. */
export function premisesOf({ settings, workspace, home, looking, env, waits, report, renew, refuse, remark, quarantine, rightsOf, log }: Standing): { of(adapter: Contribution): Premises; end(): Promise<void> } {
  const endings = new Set<() => void | Promise<void>>()
  let ended = false
  const shared = {
    workspace,
    home,
    looking,
    env,
    waits,
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
