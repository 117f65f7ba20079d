import { VtError } from '../../../core/shapes/index.js'

/** Creates an error of a queue. */
export const createQueueError = (
  code: `VT_QUEUE_${string}`,
  message: string,
  hint: string,
  retryable = false,
): VtError => new VtError({ code, message, hint, retryable })

export const createLostError = (): VtError =>
  createQueueError(
    'VT_QUEUE_LOST',
    'The lease of this run is over; another worker may have taken the job.',
    'Follow the job: `vtcode queue follow <id>`.',
  )
