import type { Io, Kernel } from '../../../core/contract/index.js'
import { formatColumns, formatDocument, printable } from '../../lib/terminal/index.js'
import {
  chooseComponents,
  componentChoices,
  componentNames,
  runContextOf,
  type RunContext,
} from '../components/index.js'
import { printFailure } from './print_failure.js'

/** Prints the components an agent would use: component, name, who chose it. Exit code 3 where there can be none, with the reason. */
export async function printComponents(
  kernel: Kernel,
  asked: RunContext | undefined,
  json: boolean,
  io: Io,
): Promise<number> {
  try {
    const runContext = asked ?? runContextOf('exec', undefined, io.env)
    const choices = componentChoices(kernel, runContext)
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
