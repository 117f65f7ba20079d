import type { Context, Result } from '../../core/index.js'

/** The tracker of the conversation that a call belongs to, which its agent lends. */
export interface Tracking {
  create(given: object): Promise<Result>
  update(change: object): Promise<Result>
  add(item: string | object, after?: number): Promise<Result>
  list(): Result
}
export const trackingOf = ({ lent }: Context): Tracking => (lent['agent'] as unknown as { completion: Tracking }).completion
