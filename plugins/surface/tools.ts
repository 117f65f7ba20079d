import { findNearest } from '../../core/text/index.js'
import type { Io, Kernel, SlotInfo } from '../../core/index.js'
import { renderPlainText } from '../../core/input/index.js'
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

/** Runs `vtcode tools`: lists the tools. */
export default async function tools(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const command = createVerb('tools', 'List the tools with their actions, and the effects and purpose of each.', io)
    .argument('[tool...]', 'list only these tools; name one action as tool/action')
    .option('--long', 'print whole descriptions')
    .option('--json', 'print one JSON document (the default into a pipe)')
    .option('--text', 'print text (the default at a terminal)')
    .action((names: string[], how: Form) => void (code = list(kernel, names, how, io)))
  return runCommand(command, argv, () => code)
}

function list(kernel: Kernel, names: string[], { long = false, ...form }: Form, io: Io): number {
  const known = [...new Set(kernel.list().flatMap(({ tool, slot }) => [tool, slot]))]
  const wrong = names.find((name) => !known.includes(name))
  if (wrong !== undefined) {
    const nearest = findNearest(wrong, known)
    say(
      io,
      'error',
      `Tool not found: ${toOneLine(wrong)}${nearest === undefined ? '' : ` (did you mean ${nearest}?)`}; known: ` +
        `${known.filter((name) => !name.includes('/')).join(', ')}.`,
    )
    return 2
  }
  const slots = kernel
    .list()
    .filter(({ tool, slot }) => names.length === 0 || names.includes(tool) || names.includes(slot))
  if (shouldPrintJson(io, { ...(long && { text: true }), ...form }))
    io.stdout.write(formatDocument({ tools: slots.map(fillHints) }))
  else
    io.stdout.write(
      slots.length === 1 && names.length === 1 ? renderSlotHelp(slots[0]!, long) : render(slots, long, io),
    )
  return 0
}

/** Replaces the marks in the hints of a slot with tool names. A call fills them in for its caller. */
function fillHints(slot: SlotInfo): SlotInfo {
  const errors = Object.entries(slot.errors).map(([code, texts]) => [
    code,
    { ...texts, ...(texts.hint !== undefined && { hint: renderPlainText(texts.hint) }) },
  ])
  return { ...slot, errors: Object.fromEntries(errors) as SlotInfo['errors'] }
}

function render(slots: SlotInfo[], long: boolean, io: Io): string {
  const { bold } = createPaint(io.stdout, io.env)
  const rows = (actions: SlotInfo[]): string =>
    formatColumns(actions.map(toRow)).replace(/.+/g, (row) => (long ? row : cutLine(row, HELP_WIDTH)))
  return [...groupByTool(slots)].map(([tool, actions]) => `${bold(tool)}\n${rows(actions)}`).join('\n')
}

function toRow({ action, effects, description }: SlotInfo): string[] {
  return [`  ${action ?? '·'}`, effects.join(', ') || 'none', toOneLine(renderPlainText(description))]
}

function groupByTool(slots: SlotInfo[]): Map<string, SlotInfo[]> {
  const groups = new Map<string, SlotInfo[]>()
  for (const slot of slots) groups.set(slot.tool, [...(groups.get(slot.tool) ?? []), slot])
  return groups
}
