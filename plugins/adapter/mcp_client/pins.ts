import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { sha256, writeStateSync } from '../../../core/base/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Contribution, AdapterContext } from '../../../core/index.js'
import { keyOf, type Definition } from './definition.js'

const most = 16 * 1_048_576

/**
 * The tools of a server as first listed. The user agreed to these, and they are listed while the server
 * is not running.
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

/** A digest that changes with every part of a tool that a model or a caller can see. */
export const digest = ({ name, title, description, inputSchema, outputSchema, annotations }: Tool): string =>
  sha256(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations]))
