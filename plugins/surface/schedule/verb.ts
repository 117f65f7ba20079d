import { statSync } from 'node:fs'
import { identityOf } from '../../../core/trust/index.js'
import type { Io, Kernel } from '../../../core/index.js'

/** What the commands share: where they look, and the exit code they leave. */
export interface ScheduleVerb {
  readonly kernel: Kernel
  readonly io: Io
  readonly library: typeof import('../../lib/schedule/index.js')
  readonly store: import('../../lib/schedule/index.js').TaskStore
  code: number
}

/** Which folder a workspace is. Throws VT_SCHED_WORKSPACE for one that is gone, and for one of another user: what stands there is theirs to change. */
export function identifyWorkspace({ library }: ScheduleVerb, workspace: string): string {
  const uid = statSync(workspace, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  const hint = 'In the folder where it is to run: `vtcode schedule resume <id> --here`.'
  if (uid === undefined) throw library.scheduleProblem('VT_SCHED_WORKSPACE', `There is no folder ${workspace}.`, hint)
  if (user !== undefined && uid !== user)
    throw library.scheduleProblem('VT_SCHED_WORKSPACE', `${workspace} belongs to another user (${uid}).`, hint)
  return identityOf(workspace)
}
