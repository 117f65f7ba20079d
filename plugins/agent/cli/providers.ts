import type { Io, Kernel } from '../../../core/kernel/index.js'
import { columns, printable } from '../../lib/terminal/index.js'
import { choicesOf, components, dictionary, placeOf, type Place } from '../components/index.js'
import { refusal } from './refusal.js'

/** Prints the record an agent would stand on: component, name, who chose it. Exit code 3 where there can be none, with the reason. */
export async function providersOf(kernel: Kernel, asked: Place | undefined, json: boolean, io: Io): Promise<number> {
  try {
    const place = asked ?? placeOf('exec', undefined, io.env)
    const choices = choicesOf(kernel, place)
    const rows = components.map((component) => ({ component, ...choices[component] }))
    io.stdout.write(json ? `${JSON.stringify({ context: place, providers: rows })}\n` : printable(columns(rows.map(({ component, name, by }) => [component, name, by]))))
    await dictionary({ kernel, env: io.env, io }, place)
    return 0
  } catch (error) {
    return refusal(kernel, error, io)
  }
}
