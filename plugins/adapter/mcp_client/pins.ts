import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { rmSync } from 'node:fs'
import { sha256, VtError, writeStateSync } from '../../../core/base/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { AdapterContext, Contribution, Problem } from '../../../core/index.js'
import { keyOf, type Definition } from './definition.js'

const most = 16 * 1_048_576
/** How long a start that failed is remembered: until then only a call or a surface that waits for servers tries again. */
const memory_ms = 5 * 60_000

interface StartFailure {
  at: number
  /** The user has been told of it. */
  told: boolean
  problem: Problem
}

/**
 * The tools of a server as first listed. The user agreed to these, and they are listed while the server
 * is not running.
 */
export class Pins {
  readonly #file: string
  readonly #failed: string
  constructor(server: string, definition: Definition, contribution: Contribution, adapterContext: AdapterContext) {
    const name = server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
    this.#file = join(adapterContext.home, 'mcp', `${name}-${keyOf(definition, contribution, adapterContext).slice(0, 12)}.json`)
    this.#failed = this.#file.replace(/json$/, 'failed.json')
  }

  read(): Tool[] | undefined {
    try {
      const { tools } = JSON.parse(readBytes(this.#file, { limit: most }).toString()) as { tools: Tool[] }
      return Array.isArray(tools) ? tools : undefined
    } catch {
      return undefined
    }
  }

  write(tools: readonly Tool[]): void {
    rmSync(this.#failed, { force: true })
    failures.delete(this.#failed)
    save(this.#file, { version: 1, tools })
  }

  /** Why the server did not start the last time, where that is not long ago. */
  failure(): { error: VtError; told: boolean } | undefined {
    const { at, told, problem } = failures.get(this.#failed) ?? readFailure(this.#failed) ?? { at: 0, told: false }
    return problem && Date.now() - at < memory_ms && at <= Date.now() ? { error: new VtError(problem), told } : undefined
  }
  remember(error: unknown, told: boolean): void {
    if (!(error instanceof VtError) || error.code !== 'VT_MCP_START') return
    const failure: StartFailure = { at: Date.now(), told, problem: error.problem }
    failures.set(this.#failed, failure)
    save(this.#failed, failure)
  }
}

/** What a disk that cannot be written does not keep; the failures of this process. */
const failures = new Map<string, StartFailure>()

/** A disk that cannot be written costs a connection at every start, nothing else. */
function save(file: string, state: object): void {
  try {
    writeStateSync(file, JSON.stringify(state), { durable: false })
  } catch {
    // See above.
  }
}

function readFailure(file: string): StartFailure | undefined {
  try {
    const { at, told, problem } = JSON.parse(readBytes(file, { limit: 65_536 }).toString()) as StartFailure
    return typeof at === 'number' && typeof problem?.code === 'string' && typeof problem.message === 'string' ? { at, told, problem } : undefined
  } catch {
    return undefined
  }
}

/** A digest that changes with every part of a tool that a model or a caller can see. */
export const digest = ({ name, title, description, inputSchema, outputSchema, annotations }: Tool): string =>
  sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations]))
