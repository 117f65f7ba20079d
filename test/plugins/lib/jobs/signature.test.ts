import { describe, expect, it } from 'vitest'
import {
  addSignature,
  requireSignedJob,
  requireSignedResult,
  type Job,
  type JobResult,
} from '../../../../build/plugins/lib/jobs/index.js'

const secret = 'a secret of at least 16 characters'
const now = Date.parse('2026-12-01T12:00:00Z')
const unsigned: Omit<Job, 'sig'> = {
  v: 1,
  job_id: `t-${'0'.repeat(32)}`,
  kind: 'thread',
  queue: 'thread',
  prefix: '{vtcode}',
  created_at: now,
  deadline_at: now + 60_000,
  mode: 'ask',
  session_id: 'ses_one',
  files: { commit: 'a'.repeat(40), bundle: 'b'.repeat(64) },
  payload: { prompt: 'do it', verify: ['npm test'] },
}
const job = addSignature(secret, 'job', unsigned)
const place = { secret, now, job_id: job.job_id, queue: 'thread', prefix: '{vtcode}' }
const signed = (more: object) => addSignature(secret, 'job', { ...unsigned, ...more })

describe('requireSignedJob', () => {
  it('returns a job that is signed for this place', () => {
    expect(requireSignedJob(JSON.parse(JSON.stringify(job)), place)).toEqual(job)
  })
  it.each([
    ['no object', 'text', {}, /signature is missing or wrong/],
    ['no signature', unsigned, {}, /signature is missing or wrong/],
    ['a short signature', { ...job, sig: job.sig.slice(1) }, {}, /signature is missing or wrong/],
    ['another secret', addSignature('another secret of 16 chars', 'job', unsigned), {}, /missing or wrong/],
    ['the signature of a result', addSignature(secret, 'result', unsigned), {}, /missing or wrong/],
    ['another prompt', { ...job, payload: { prompt: 'do more' } }, {}, /missing or wrong/],
    ['another mode', { ...job, mode: 'full-auto' }, {}, /missing or wrong/],
    ['one more key', { ...job, extra: 1 }, {}, /missing or wrong/],
    ['a signed key that is unknown', signed({ extra: 1 }), {}, /its form is unknown/],
    ['a signed job of a later version', signed({ v: 2 }), {}, /its form is unknown \(\/v\)/],
    ['a signed kind that is unknown', signed({ kind: 'shell' }), {}, /its form is unknown \(\/kind\)/],
    ['a replay under another id', job, { job_id: `t-${'1'.repeat(32)}` }, /signed for the job_id 't-000/],
    ['a replay in another queue', job, { queue: 'thread-gpu' }, /signed for the queue 'thread', not for 'thread-gpu'/],
    ['a replay under another prefix', job, { prefix: '{other}' }, /signed for the prefix '\{vtcode\}'/],
    ['a replay after its deadline', job, { now: now + 60_001 }, /its deadline was 2026-12-01T12:01:00\.000Z/],
  ])('refuses %s', (_, value, more, expected) => {
    const refused = expect(() => requireSignedJob(value, { ...place, ...more }))
    refused.toThrow(
      expect.objectContaining({ code: 'VT_QUEUE_BAD_SIGNATURE', message: expect.stringMatching(expected) }),
    )
  })
})

describe('requireSignedResult', () => {
  const result = addSignature(secret, 'result', {
    v: 1,
    job_sig: job.sig,
    worker: 'one',
    lease: 1,
    exit_code: 0,
    started_at: now,
    ended_at: now,
  }) as JobResult
  it('returns a result of the job', () => {
    expect(requireSignedResult(result, secret, job.sig)).toEqual(result)
  })
  it.each([
    ['a result of an earlier job with the same id', result, signed({ created_at: now - 1 }).sig],
    ['a result with another patch', { ...result, patch: 'c'.repeat(64) }, job.sig],
    ['nothing', undefined, job.sig],
  ])('refuses %s', (_, value, sig) => {
    expect(() => requireSignedResult(value, secret, sig)).toThrow(
      expect.objectContaining({ code: 'VT_QUEUE_BAD_SIGNATURE' }),
    )
  })
})
