import { statSync } from 'node:fs'
import { readIdentity } from '../../../core/trust/index.js'
import type { Io, Kernel } from '../../../core/index.js'

/** Context of the `schedule` commands, and their exit code. */
export interface ScheduleVerb {
  readonly kernel: Kernel
  readonly io: Io
  readonly library: typeof import('../../lib/schedule/index.js')
  readonly store: import('../../lib/schedule/index.js').TaskStore
  code: number
}

/** Returns the identity of a workspace. Throws VT_SCHED_WORKSPACE if it is missing, or owned by another user. */
export function identifyWorkspace({ library }: ScheduleVerb, workspace: string): string {
  const uid = statSync(workspace, { throwIfNoEntry: false })?.uid
  const user = process.getuid?.()
  const hint = 'Run `vtcode schedule resume <id> --here` in the folder where the schedule should run.'
  if (uid === undefined)
    throw library.createScheduleError('VT_SCHED_WORKSPACE', `Folder '${workspace}' not found.`, hint)
  if (user !== undefined && uid !== user)
    throw library.createScheduleError(
      'VT_SCHED_WORKSPACE',
      `Folder '${workspace}' belongs to another user (${uid}).`,
      hint,
    )
  return readIdentity(workspace)
}
