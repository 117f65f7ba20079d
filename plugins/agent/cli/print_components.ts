import type { Io, Kernel } from '../../../core/contract/index.js'
import { formatColumns, formatDocument, printable } from '../../lib/terminal/index.js'
import {
  chooseComponents,
  resolveChoices,
  componentNames,
  resolveRunContext,
  type RunContext,
} from '../components/index.js'
import { printFailure } from './print_failure.js'

/** Prints the components of an agent with their names and origins. Exit code 3 if they are invalid, with the reason. */
export async function printComponents(
  kernel: Kernel,
  asked: RunContext | undefined,
  json: boolean,
  io: Io,
): Promise<number> {
  try {
    const runContext = asked ?? resolveRunContext('exec', undefined, io.env)
    const choices = resolveChoices(kernel, runContext)
    const rows = componentNames.map((component) => ({ component, ...choices[component] }))
    io.stdout.write(
      json
        ? formatDocument({ context: runContext, providers: rows })
        : printable(formatColumns(rows.map(({ component, name, by }) => [component, name, by]))),
    )
    await chooseComponents({ kernel, env: io.env, io }, runContext)
    return 0
  } catch (error) {
    return printFailure(kernel, error, io)
  }
}
