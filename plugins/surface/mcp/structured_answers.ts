import { readFileSync } from 'node:fs'
import { programFile, type Kernel, type Schema, type ToolInfo } from '../../../core/index.js'
import type { McpRequest } from './client_questions.js'
import { createRequestError, type ClientConnection } from './connection.js'

/** The key in `_meta` of a call that requests the value with the text. */
const STRUCTURED_KEY = 'dev.vtcode/structured'

/**
 * Decides which answers contain their value. Most clients then pass a model the value instead of the text, which was
 * written for models. So the value needs a request: an output schema of the tool, `--structured`, or `_meta`.
 */
export class StructuredAnswers {
  readonly #kernel: Kernel
  readonly #all: boolean
  #declared: Set<string> | undefined

  constructor(kernel: Kernel, all: boolean) {
    this.#kernel = kernel
    this.#all = all
  }

  /** Drops the cached names after a reload. */
  forget(): void {
    this.#declared = undefined
  }

  /** Returns whether an answer contains its value. Throws a protocol error when the key in `_meta` is no boolean. */
  isWanted(connection: ClientConnection, name: string, { mcpReq }: McpRequest): boolean {
    const requested = (mcpReq._meta as Record<string, unknown> | undefined)?.[STRUCTURED_KEY]
    if (requested !== undefined && typeof requested !== 'boolean')
      throw createRequestError(
        connection,
        `Invalid params: _meta["${STRUCTURED_KEY}"] is ${JSON.stringify(requested).slice(0, 80)}; ` +
          'it must be true or false.',
      )
    this.#declared ??= new Set(
      this.#kernel.tools({ splitReads: true }).flatMap((tool) => (tool.output ? [tool.name] : [])),
    )
    return requested ?? (this.#all || this.#declared.has(name))
  }

  /** Returns the output schema of a tool; built-in tools have one only with `--structured`. */
  resolveOutputSchema({ name, output, actions }: ToolInfo): Schema | undefined {
    if (!this.#all || output) return output
    if (actions.length === 0)
      return readOutputs()[name] ?? Object.entries(readOutputs()).find(([slot]) => slot.replace('/', '_') === name)?.[1]
    // Actions that are listed as tools of their own can be called by this name too.
    const known = Object.keys(readOutputs()).filter((slot) => slot.startsWith(`${name}/`))
    return actions.every((action) => known.includes(`${name}/${action}`))
      ? mergeSchemas(known.map((slot) => readOutputs()[slot]!))
      : undefined
  }
}

/** Returns an `anyOf` of schemas, with their definitions renamed so that none clash. */
function mergeSchemas(parts: readonly Schema[]): Schema {
  const separate = parts.map(
    (part, at) => JSON.parse(JSON.stringify(part).replaceAll('"#/$defs/', `"#/$defs/${at}.`)) as Schema,
  )
  const defs = separate.flatMap(({ $defs = {} }, at) =>
    Object.entries($defs as object).map(([name, one]) => [`${at}.${name}`, one]),
  )
  return {
    type: 'object',
    anyOf: separate.map(({ $defs: _, ...part }) => part),
    ...(defs.length > 0 && { $defs: Object.fromEntries(defs) }),
  }
}

let known: Record<string, Schema> | undefined
const readOutputs = (): Record<string, Schema> =>
  (known ??= JSON.parse(readFileSync(programFile('manifests/_outputs.json'), 'utf8')) as Record<string, Schema>)
