import type { Io, Kernel, SlotInfo } from '../../core/index.js'
import { columns, oneLine, paint, say } from '../lib/terminal/index.js'

const usage = 'Usage: vtcode tools [--json] [tool]\n\nLists the tools with their actions, what each may do, and what it is for.\n'

/** `vtcode tools`: what can be called. */
export default async function tools(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  if (argv.includes('--help')) {
    io.stdout.write(usage)
    return 0
  }
  const names = argv.filter((word) => word !== '--json')
  const known = kernel.tools().map(({ name }) => name)
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined) {
    say(io, 'error', wrong.startsWith('-') ? `Unknown flag ${wrong}.\n${usage}` : `There is no tool ${wrong}; known: ${known.join(', ')}.`)
    return 2
  }
  const slots = kernel.list().filter(({ tool }) => names.length === 0 || names.includes(tool))
  io.stdout.write(argv.includes('--json') ? `${JSON.stringify({ tools: slots })}\n` : render(slots, io))
  return 0
}

function render(slots: SlotInfo[], io: Io): string {
  const { bold } = paint(io.stdout, io.env)
  const byTool = group(slots)
  return [...byTool].map(([tool, actions]) => `${bold(tool)}\n${columns(actions.map(line))}`).join('\n')
}

function line({ action, effects, description }: SlotInfo): string[] {
  return [`  ${action ?? '·'}`, effects.join(', ') || 'none', oneLine(description)]
}

function group(slots: SlotInfo[]): Map<string, SlotInfo[]> {
  const groups = new Map<string, SlotInfo[]>()
  for (const slot of slots) groups.set(slot.tool, [...(groups.get(slot.tool) ?? []), slot])
  return groups
}
