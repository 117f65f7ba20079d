import { problem, type Call, type Contribution } from '../shapes/index.js'
import type { OpenWorkspace, PlannedChange } from '../workspace/index.js'
import type { ContextServices } from '../generation/index.js'

/** The parts of a run that the workspace of a plugin needs. */
interface PluginRun {
  readonly call: Call
  readonly places: () => Call['places'] | undefined
  commit(how: 'preparing' | 'changing'): void
  /** Contract: rejects if a policy objects to the change. */
  judgeChange(change: PlannedChange & { readonly named: boolean }): Promise<void>
}

/**
 * Opens the workspace for the code of a plugin. A file changes only if the plugin and its call may write, and if no
 * policy objects to the path. Policies and compactors only read.
 */
export function openPluginWorkspace(
  { filtered, listRights }: Pick<ContextServices, 'filtered' | 'listRights'>,
  contribution: Contribution,
  { call, places, commit, judgeChange }: PluginRun,
): OpenWorkspace {
  const { id, kind } = contribution
  const isNamed = (path: string) => call.places.some(({ resolved, entry }) => path === resolved || path === entry)
  if (kind === 'policy' || kind === 'compactor') return openReadOnlyWorkspace(filtered, contribution, isNamed)
  const rights = [call.effects, listRights(contribution)]
  return filtered.createCallView(places(), commit).createPluginView({
    isNamed,
    async checkChange(change) {
      if (!rights.every((effects) => effects.includes('write')))
        throw problem('VT_PLUGIN_EFFECT', { id, effect: 'write' })
      const named = isNamed(change.resolved) && isNamed(change.entry)
      if (!named || change.whole) await judgeChange({ ...change, named })
    },
  })
}

/** Opens the workspace for code of a plugin that may not change anything. */
export const openReadOnlyWorkspace = (
  filtered: OpenWorkspace,
  { id }: Pick<Contribution, 'id'>,
  isNamed: (path: string) => boolean = () => false,
): OpenWorkspace =>
  filtered.createPluginView({
    isNamed,
    checkChange: () =>
      Promise.reject(
        problem(
          'VT_PLUGIN_EFFECT',
          { id, effect: 'write' },
          { hint: 'Policies, compactors and completions only read. Change files in an action; nothing was done.' },
        ),
      ),
  })
