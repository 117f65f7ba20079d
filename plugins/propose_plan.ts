import type { Asker, Context, Handler, Result } from '../core/index.js'

/** Where plans go in the conversation that a call belongs to, which its agent lends. */
interface Planning {
  propose(plan: object, ask: Asker | undefined, signal: AbortSignal): Promise<Result>
}
const planningOf = ({ lent }: Context): Planning => (lent['agent'] as unknown as { completion: { plans: Planning } }).completion.plans

export default (({ input }, context) => planningOf(context).propose(input, context.ask, context.signal)) satisfies Handler<object>
