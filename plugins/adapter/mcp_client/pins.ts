import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { sha256, writeStateSync } from '../../../core/base/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Contribution, AdapterContext } from '../../../core/index.js'
import { keyOf, type Definition } from './definition.js'

const most = 16 * 1_048_576

/**
 * The tools of a server as they were when they were first seen. They are what the user agreed to, and what is listed while the server
 * is not needed.
 */
export class Pins {
  readonly #file: string
  constructor(server: string, definition: Definition, contribution: Contribution, adapterContext: AdapterContext) {
    const name = server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
    this.#file = join(adapterContext.home, 'mcp', `${name}-${keyOf(definition, contribution, adapterContext).slice(0, 12)}.json`)
  }

  read(): Tool[] | undefined {
    try {
      const { tools } = JSON.parse(readBytes(this.#file, { limit: most }).toString()) as { tools: Tool[] }
      return Array.isArray(tools) ? tools : undefined
    } catch {
      return undefined
    }
  }

  /** A disk that cannot be written costs a connection at every start, nothing else. */
  write(tools: readonly Tool[]): void {
    try {
      writeStateSync(this.#file, JSON.stringify({ version: 1, tools }), { durable: false })
    } catch {
      // See above.
    }
  }
}

/** Changes with everything a model or a caller is told of a tool. */
export const digest = ({ name, title, description, inputSchema, outputSchema, annotations }: Tool): string =>
  sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations]))
