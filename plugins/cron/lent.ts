import type { Context, Result } from '../../core/index.js'

/** What begins by itself in the conversation that a call belongs to, which its agent lends. */
interface Schedule {
  create(asked: { prompt: string; expression?: string; every?: string; run_at?: string }): Promise<Result>
  list(): Result
  delete(id: string): Promise<Result>
}
export const scheduleOf = ({ lent }: Context): Schedule => (lent['agent'] as unknown as { tasks: { tool: Schedule } }).tasks.tool
