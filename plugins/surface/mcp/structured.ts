import { readFileSync } from 'node:fs'
import { programFile, type Kernel, type Schema, type ToolInfo } from '../../../core/index.js'
import type { McpRequest } from './asking.js'
import { requestError, type ClientConnection } from './connection.js'

/** With this in the `_meta` of a call its answer holds the value beside the text. */
const ASKS = 'dev.vtcode/structured'

/**
 * Which answers hold their value beside their text. Clients hand a model the value in place of the text, which was made for it, so that
 * is for those who ask: the tool by a schema of what it answers, the user by `--structured`, the client by `_meta`.
 */
export class StructuredAnswers {
  readonly #kernel: Kernel
  readonly #all: boolean
  #declared: Set<string> | undefined

  constructor(kernel: Kernel, all: boolean) {
    this.#kernel = kernel
    this.#all = all
  }

  /** The tools are other ones now. */
  forget(): void {
    this.#declared = undefined
  }

  /** Throws the protocol's error where `_meta` asks by something that is neither yes nor no. */
  wanted(connection: ClientConnection, name: string, { mcpReq }: McpRequest): boolean {
    const asked = (mcpReq._meta as Record<string, unknown> | undefined)?.[ASKS]
    if (asked !== undefined && typeof asked !== 'boolean')
      throw requestError(
        connection,
        `Invalid params: _meta["${ASKS}"] is ${JSON.stringify(asked).slice(0, 80)}; it must be true or false.`,
      )
    this.#declared ??= new Set(
      this.#kernel.tools({ splitReads: true }).flatMap((tool) => (tool.output ? [tool.name] : [])),
    )
    return asked ?? (this.#all || this.#declared.has(name))
  }

  /** What a tool says it answers; our own say it to those who ask only. */
  schemaOf({ name, output, actions }: ToolInfo): Schema | undefined {
    if (!this.#all || output) return output
    if (actions.length === 0)
      return outputs()[name] ?? Object.entries(outputs()).find(([slot]) => slot.replace('/', '_') === name)?.[1]
    // What is listed apart can be called by this name too.
    const known = Object.keys(outputs()).filter((slot) => slot.startsWith(`${name}/`))
    return actions.every((action) => known.includes(`${name}/${action}`))
      ? anyOf(known.map((slot) => outputs()[slot]!))
      : undefined
  }
}

/** One of several schemas; their definitions stay apart. */
function anyOf(parts: readonly Schema[]): Schema {
  const apart = parts.map(
    (part, at) => JSON.parse(JSON.stringify(part).replaceAll('"#/$defs/', `"#/$defs/${at}.`)) as Schema,
  )
  const defs = apart.flatMap(({ $defs = {} }, at) =>
    Object.entries($defs as object).map(([name, one]) => [`${at}.${name}`, one]),
  )
  return {
    type: 'object',
    anyOf: apart.map(({ $defs: _, ...part }) => part),
    ...(defs.length > 0 && { $defs: Object.fromEntries(defs) }),
  }
}

let known: Record<string, Schema> | undefined
const outputs = (): Record<string, Schema> =>
  (known ??= JSON.parse(readFileSync(programFile('manifests/_outputs.json'), 'utf8')) as Record<string, Schema>)
