import { rmSync } from 'node:fs'
import { writeStateSync } from '../../../core/system/index.js'
import { readBytes } from '../../../core/documents/index.js'
import { VtError, type Problem } from '../../../core/index.js'

/** How long a start that failed is remembered: until then only a call or a surface that waits for servers tries again. */
const memory_ms = 5 * 60_000

interface StartFailure {
  at: number
  /** The user has been told of it. */
  told: boolean
  problem: Problem
}
/** What a disk that cannot be written does not keep; the failures of this process. */
const known = new Map<string, StartFailure>()

/** Why a server did not start the last time. */
export class Failures {
  constructor(private readonly file: string) {}

  /** The last one, where that is not long ago. */
  get last(): { error: VtError; told: boolean } | undefined {
    const { at, told, problem } = known.get(this.file) ?? this.#read() ?? { at: 0, told: false }
    return problem && Date.now() - at < memory_ms && at <= Date.now()
      ? { error: new VtError(problem), told }
      : undefined
  }

  remember(error: unknown, told: boolean): void {
    if (!(error instanceof VtError) || error.code !== 'VT_MCP_START') return
    const failure: StartFailure = { at: Date.now(), told, problem: error.problem }
    known.set(this.file, failure)
    try {
      writeStateSync(this.file, JSON.stringify(failure), { durable: false })
    } catch {
      // It is known to this process.
    }
  }

  forget(): void {
    known.delete(this.file)
    rmSync(this.file, { force: true })
  }

  #read(): StartFailure | undefined {
    try {
      const { at, told, problem } = JSON.parse(readBytes(this.file, { limit: 65_536 }).toString()) as StartFailure
      return typeof at === 'number' && typeof problem?.code === 'string' && typeof problem.message === 'string'
        ? { at, told, problem }
        : undefined
    } catch {
      return undefined
    }
  }
}
