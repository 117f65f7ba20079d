import { createHash } from 'node:crypto'
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Tool } from '@modelcontextprotocol/client'
import { readBytes } from '../../../core/documents/index.js'
import type { Contribution, Premises } from '../../../core/index.js'
import { keyOf, type Definition } from './definition.js'

const most = 16 * 1_048_576

/**
 * The tools of a server as they were when they were first seen. They are what the user agreed to, and what is listed while the server
 * is not needed.
 */
export class Pins {
  readonly #folder: string
  readonly #file: string
  constructor(server: string, definition: Definition, contribution: Contribution, premises: Premises) {
    this.#folder = join(premises.home, 'mcp')
    const name = server.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, 64)
    this.#file = join(this.#folder, `${name}-${keyOf(definition, contribution, premises).slice(0, 12)}.json`)
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
      mkdirSync(this.#folder, { recursive: true, mode: 0o700 })
      const draft = `${this.#file}.${process.pid}`
      writeFileSync(draft, JSON.stringify({ version: 1, tools }), { mode: 0o600 })
      renameSync(draft, this.#file)
    } catch {
      // See above.
    }
  }
}

/** Changes with everything a model or a caller is told of a tool. */
export const digest = ({ name, title, description, inputSchema, outputSchema, annotations }: Tool): string =>
  createHash('sha256').update(JSON.stringify([name, title, description, inputSchema, outputSchema, annotations])).digest('hex')
