import { VtError } from '../../../core/shapes/index.js'

/** An error of the verb `schedule`, by its code. */
export const scheduleProblem = (code: `VT_SCHED_${string}`, message: string, hint: string): VtError =>
  new VtError({ code, message, hint, retryable: false })

const example =
  "Five fields: minute, hour, day of month, month, weekday, as in --cron '0 9 * * 1-5' for nine on workdays; or a nickname such as @daily."
export const badExpression = (message: string, hint = example): VtError =>
  scheduleProblem('VT_SCHED_BAD_EXPRESSION', message, hint)
