import { nearest } from '../../core/text/index.js'
import type { Io, Kernel, SlotInfo } from '../../core/index.js'
import { plainly } from '../../core/input/index.js'
import {
  shouldPrintJson,
  formatColumns,
  cutLine,
  formatDocument,
  HELP_WIDTH,
  toOneLine,
  createPaint,
  runCommand,
  say,
  renderSlotHelp,
  createVerb,
  type OutputForm,
} from '../lib/terminal/index.js'

interface Form extends OutputForm {
  long?: boolean
}

/** `vtcode tools`: what can be called. */
export default async function tools(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('tools', 'Lists the tools with their actions, what each may do, and what it is for.', io)
    .argument('[tool...]', 'these tools only; one action is tool/action')
    .option('--long', 'the whole of each description')
    .option('--json', 'one JSON document, which is what a pipe gets')
    .option('--text', 'text, which is what a terminal gets')
    .action((names: string[], how: Form) => void (code = list(kernel, names, how, io)))
  return runCommand(command, argv, () => code)
}

function list(kernel: Kernel, names: string[], { long = false, ...form }: Form, io: Io): number {
  const known = [...new Set(kernel.list().flatMap(({ tool, slot }) => [tool, slot]))]
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined) {
    const like = nearest(wrong, known)
    say(
      io,
      'error',
      `Tool not found: ${toOneLine(wrong)}${like === undefined ? '' : ` (did you mean ${like}?)`}; known: ${known.filter((name) => !name.includes('/')).join(', ')}.`,
    )
    return 2
  }
  const slots = kernel
    .list()
    .filter(({ tool, slot }) => names.length === 0 || names.includes(tool) || names.includes(slot))
  if (shouldPrintJson(io, { ...(long && { text: true }), ...form }))
    io.stdout.write(formatDocument({ tools: slots.map(readable) }))
  else
    io.stdout.write(
      slots.length === 1 && names.length === 1 ? renderSlotHelp(slots[0]!, long) : render(slots, long, io),
    )
  return 0
}

/** With the tools that its hints name written out: in a manifest they are marks, which a call fills in for its caller. */
function readable(slot: SlotInfo): SlotInfo {
  const errors = Object.entries(slot.errors).map(([code, texts]) => [
    code,
    { ...texts, ...(texts.hint !== undefined && { hint: plainly(texts.hint) }) },
  ])
  return { ...slot, errors: Object.fromEntries(errors) as SlotInfo['errors'] }
}

function render(slots: SlotInfo[], long: boolean, io: Io): string {
  const { bold } = createPaint(io.stdout, io.env)
  const rows = (actions: SlotInfo[]): string =>
    formatColumns(actions.map(line)).replace(/.+/g, (row) => (long ? row : cutLine(row, HELP_WIDTH)))
  return [...group(slots)].map(([tool, actions]) => `${bold(tool)}\n${rows(actions)}`).join('\n')
}

function line({ action, effects, description }: SlotInfo): string[] {
  return [`  ${action ?? '·'}`, effects.join(', ') || 'none', toOneLine(plainly(description))]
}

function group(slots: SlotInfo[]): Map<string, SlotInfo[]> {
  const groups = new Map<string, SlotInfo[]>()
  for (const slot of slots) groups.set(slot.tool, [...(groups.get(slot.tool) ?? []), slot])
  return groups
}
