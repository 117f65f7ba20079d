import type { ProofRun } from '../base/index.js'

/** Describes how a command ended. */
export const describeEnding = ({
  exit_code,
  timed_out,
  duration_ms,
}: Pick<ProofRun, 'exit_code' | 'timed_out' | 'duration_ms'>): string =>
  timed_out
    ? `was stopped after ${Math.round(duration_ms / 1000)} s`
    : exit_code === null
      ? 'ended without an exit code'
      : `ended with exit code ${exit_code}`
