import type { Context, Result } from '../../core/index.js'
import type { TreeChange, Worktree } from '../lib/worktrees/index.js'

/** The parts of the work of the conversation that a call belongs to, which its agent lends. */
interface Parts {
  spawn(given: object, signal: AbortSignal, call_id: string | undefined): Promise<Result>
  send(id: string, message: string, interrupt: boolean): Promise<Result>
  wait(ids: readonly string[] | undefined, mode: 'all' | 'any', timeout_secs: number, signal: AbortSignal): Promise<Result>
  list(): Result
  close(id: string, merge: boolean | readonly string[], signal: AbortSignal): Promise<Result>
  unmerged(id: string): Promise<{ tree: Worktree; changes: TreeChange[] }>
}
export const partsOf = ({ lent }: Context): Parts => (lent['agent'] as unknown as { delegation: Parts }).delegation
