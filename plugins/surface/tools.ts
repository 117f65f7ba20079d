import type { Io, Kernel, SlotInfo } from '../../core/index.js'
import { plainly } from '../../core/input/index.js'
import { columns, oneLine, paint, runCommand, say, verb } from '../lib/terminal/index.js'

/** `vtcode tools`: what can be called. */
export default async function tools(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = verb('tools', 'Lists the tools with their actions, what each may do, and what it is for.', io)
    .argument('[tool...]', 'these tools only')
    .option('--json', 'as one JSON document')
    .action((names: string[], { json = false }: { json?: boolean }) => void (code = list(kernel, names, json, io)))
  return runCommand(command, argv, () => code)
}

function list(kernel: Kernel, names: string[], json: boolean, io: Io): number {
  const known = [...new Set(kernel.list().map(({ tool }) => tool))]
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined) {
    say(io, 'error', `There is no tool ${wrong}; known: ${known.join(', ')}.`)
    return 2
  }
  const slots = kernel.list().filter(({ tool }) => names.length === 0 || names.includes(tool))
  io.stdout.write(json ? `${JSON.stringify({ tools: slots.map(readable) })}\n` : render(slots, io))
  return 0
}

/** With the tools that its hints name written out: in a manifest they are marks, which a call fills in for its caller. */
function readable(slot: SlotInfo): SlotInfo {
  const errors = Object.entries(slot.errors).map(([code, texts]) => [code, { ...texts, ...(texts.hint !== undefined && { hint: plainly(texts.hint) }) }])
  return { ...slot, errors: Object.fromEntries(errors) as SlotInfo['errors'] }
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
