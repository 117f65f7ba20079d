import { rmSync } from 'node:fs'
import { writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Problem } from '../../../core/index.js'

/**
 * Milliseconds for which a failed start is remembered. Until then only a call, or a surface that waits for servers,
 * tries again.
 */
const MEMORY_MS = 5 * 60_000

interface StartFailure {
  at: number
  /** Set when the failure was reported to the user. */
  reported: boolean
  problem: Problem
}
/** The failures of this process; they remain known on a read-only disk. */
const knownFailures = new Map<string, StartFailure>()

/** The last failed start of one server. */
export class Failures {
  constructor(private readonly file: string) {}

  /** Returns the last failure if it is recent. */
  get last(): { error: VtError; reported: boolean } | undefined {
    const { at, reported, problem } = knownFailures.get(this.file) ?? this.#read() ?? { at: 0, reported: false }
    return problem && Date.now() - at < MEMORY_MS && at <= Date.now()
      ? { error: new VtError(problem), reported }
      : undefined
  }

  remember(error: unknown, reported: boolean): void {
    if (!(error instanceof VtError) || error.code !== 'VT_MCP_START') return
    const failure: StartFailure = { at: Date.now(), reported, problem: error.problem }
    knownFailures.set(this.file, failure)
    try {
      writeStateSync(this.file, JSON.stringify(failure), { durable: false })
    } catch {
      // Without the file, only this process remembers the failure.
    }
  }

  forget(): void {
    knownFailures.delete(this.file)
    rmSync(this.file, { force: true })
  }

  #read(): StartFailure | undefined {
    try {
      const { at, reported, problem } = JSON.parse(readBytes(this.file, { limit: 65_536 }).toString()) as StartFailure
      return typeof at === 'number' && typeof problem?.code === 'string' && typeof problem.message === 'string'
        ? { at, reported, problem }
        : undefined
    } catch {
      return undefined
    }
  }
}
