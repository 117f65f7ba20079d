import type { Context, Handler, Result } from '../core/index.js'

/** Where a report goes in the conversation that a call belongs to, which its agent lends. */
const reportTo = ({ lent }: Context): ((report: object) => Result) => {
  const { delegation } = lent['agent'] as unknown as { delegation: { finishWith(report: object): Result } }
  return (report) => delegation.finishWith(report)
}

export default (({ input }, context) => reportTo(context)(input)) satisfies Handler<object>
