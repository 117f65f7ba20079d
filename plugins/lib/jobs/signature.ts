import { createHmac, timingSafeEqual } from 'node:crypto'
import { isObject } from '../../../core/shapes/index.js'
import { toCanonicalJson } from '../../../core/trust/index.js'
import { checkContract } from '../../../core/schema/index.js'
import { createQueueError } from './errors.js'
import type { Job, JobResult } from './types.js'

/** The kinds of signed texts: a text of one kind never counts as another. */
type Purpose = 'job' | 'line' | 'result'

function sign(secret: string, purpose: Purpose, value: object): string {
  const { sig: _, ...rest } = value as { sig?: string }
  return createHmac('sha256', secret)
    .update(`vtcode ${purpose} 1\n${toCanonicalJson(rest)}`)
    .digest('hex')
}

/** Returns a copy of a value with its signature. */
export const addSignature = <T extends object>(secret: string, purpose: Purpose, value: T): T & { sig: string } => ({
  ...value,
  sig: sign(secret, purpose, value),
})

export function hasSignature(secret: string, purpose: Purpose, value: unknown): value is { sig: string } {
  if (!isObject(value) || typeof value['sig'] !== 'string' || !/^[0-9a-f]{64}$/.test(value['sig'])) return false
  return timingSafeEqual(Buffer.from(value['sig'], 'hex'), Buffer.from(sign(secret, purpose, value), 'hex'))
}

const createSignatureError = (problem: string) =>
  createQueueError(
    'VT_QUEUE_BAD_SIGNATURE',
    `The job was refused: ${problem}.`,
    'Set the same automation.distributed.secret on all machines, and submit the job again.',
  )

/**
 * Checks a job from a queue before anything of it is used. Throws VT_QUEUE_BAD_SIGNATURE for a job that is unsigned,
 * changed, expired, or meant for another queue, prefix or id.
 */
export function requireSignedJob(
  value: unknown,
  { secret, now, ...place }: { secret: string; now: number; job_id: string; queue: string; prefix: string },
): Job {
  if (!hasSignature(secret, 'job', value)) throw createSignatureError('its signature is missing or wrong')
  const [fault] = checkContract('job.1.json', value)
  if (fault) throw createSignatureError(`its form is unknown (/${fault.path.join('/')})`)
  const job = value as unknown as Job
  for (const key of ['job_id', 'queue', 'prefix'] as const)
    if (job[key] !== place[key])
      throw createSignatureError(`it was signed for the ${key} '${job[key]}', not for '${place[key]}'`)
  if (now > job.deadline_at) throw createSignatureError(`its deadline was ${new Date(job.deadline_at).toISOString()}`)
  return job
}

/** Checks a result of a job. Throws VT_QUEUE_BAD_SIGNATURE. */
export function requireSignedResult(value: unknown, secret: string, job_sig: string): JobResult {
  if (!hasSignature(secret, 'result', value)) throw createSignatureError('the signature of its result is wrong')
  const result = value as unknown as JobResult
  if (result.v !== 1 || result.job_sig !== job_sig) throw createSignatureError('its result belongs to another job')
  return result
}
