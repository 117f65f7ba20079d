import type { Call } from '../shapes/index.js'
import type { PlannedChange } from '../workspace/index.js'
import type { Context } from './plugin_types.js'

/**
 * Exported as `judgeChange` by the module of a built-in policy: judges a change that the code of a plugin is about to
 * make during a call. `named`: the policies have judged the path with the call. Contract: returns the objection, if
 * there is one; a throw refuses the change.
 */
export type ChangeJudge = (
  change: PlannedChange & { readonly named: boolean },
  call: Call,
  context: Context,
) => Promise<{ reason: string; way: string } | undefined>
