import { VtError } from '../../../core/shapes/index.js'

/** Creates an error of the command `schedule`. */
export const createScheduleError = (code: `VT_SCHED_${string}`, message: string, hint: string): VtError =>
  new VtError({ code, message, hint, retryable: false })

const EXPRESSION_HINT =
  'Use five fields: minute, hour, day of month, month, weekday. ' +
  "For example --cron '0 9 * * 1-5' runs at 9:00 on workdays. Or use a nickname such as @daily."
export const createExpressionError = (message: string, hint = EXPRESSION_HINT): VtError =>
  createScheduleError('VT_SCHED_BAD_EXPRESSION', message, hint)
