import { isAbsolute, relative } from 'node:path'
import type { Io, Kernel } from '../../core/index.js'
import {
  findAgents,
  requireAgent,
  printFailure,
  computeChildRights,
  type AgentDefinition,
  type AgentFault,
} from '../agent/cli/index.js'
import {
  shouldPrintJson,
  formatColumns,
  formatDocument,
  toOneLine,
  printable,
  runCommand,
  say,
  createVerb,
  type OutputForm,
} from '../lib/terminal/index.js'

/** `vtcode agents`: lists and shows agents, and checks their definitions. */
export default async function agents(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  let code = 0
  const { agents: all, faults } = findAgents(kernel, io.env)
  const command = createVerb(
    'agents',
    'List the agents that can work on parts of a task; show one; check the definitions. ' +
      'Prints text to a terminal and JSON to a pipe; --json and --text choose.',
    io,
  )
  command
    .command('list', { isDefault: true })
    .option('--json')
    .option('--text')
    .action((form: OutputForm) => listAgents(kernel, all, shouldPrintJson(io, form), io))
  command
    .command('show <name>')
    .description('Show purpose, rights and prompt of an agent.')
    .option('--json')
    .option('--text')
    .action((name: string, form: OutputForm) => {
      try {
        showAgent(kernel, requireAgent({ agents: all, faults }, name), faults, shouldPrintJson(io, form), io)
      } catch (error) {
        code = printFailure(kernel, error, io)
      }
    })
  command
    .command('check')
    .description('List parts of the definitions that are not used, and why.')
    .option('--json')
    .option('--text')
    .action((form: OutputForm) => void (code = checkAgents(kernel, faults, shouldPrintJson(io, form), io)))
  return runCommand(command, argv, () => code)
}

function listAgents(kernel: Kernel, all: readonly AgentDefinition[], json: boolean, io: Io): void {
  const rows = all.map(({ name, description, source, plugin, model, trusted, file }) => ({
    name,
    source: plugin ?? source,
    mode: resolveMode(kernel, all, name),
    model,
    trusted,
    description,
    file: toDisplayPath(kernel, file),
  }))
  if (json) return void io.stdout.write(formatDocument({ agents: rows }))
  io.stdout.write(
    formatColumns([
      ['name', 'from', 'mode', 'model', 'description'],
      ...rows.map(({ name, source, mode, model, description }) => [name, source, mode, model, toOneLine(description)]),
    ]),
  )
}

const resolveMode = (kernel: Kernel, all: readonly AgentDefinition[], name: string): string =>
  resolveRights(
    kernel,
    all.find((one) => one.name === name)!,
  ).mode
const resolveRights = (kernel: Kernel, agent: AgentDefinition) =>
  computeChildRights(kernel, { mode: kernel.inspection.resolveMode(), only: undefined }, agent, { delegates: false })

function showAgent(kernel: Kernel, agent: AgentDefinition, faults: readonly AgentFault[], json: boolean, io: Io): void {
  const { body, item: _, ...details } = agent
  const { mode, only } = resolveRights(kernel, agent)
  const remarks = faults
    .filter(({ file }) => file === agent.file)
    .map(({ severity, message, line }) => ({ severity, message, line }))
  if (json)
    return void io.stdout.write(
      formatDocument({
        ...details,
        file: toDisplayPath(kernel, agent.file),
        mode,
        slots: only.tools,
        prompt: body,
        remarks,
      }),
    )
  const rows = [
    ['name', agent.name],
    ['from', `${agent.plugin ?? agent.source}, ${toDisplayPath(kernel, agent.file)}`],
    ['description', agent.description],
    ['mode', mode],
    ['model', agent.model],
    ['may call', only.tools.join(', ')],
    ['isolation', agent.isolation],
    ['background', String(agent.background)],
    ...remarks.map(({ message, line }) => ['remark', `line ${line}: ${message}`]),
  ]
  io.stdout.write(`${formatColumns(rows.map((row) => row.map((cell) => toOneLine(cell!))))}\n${printable(body)}\n`)
}

/** Prints faults of definitions. Returns exit code 1 if a file cannot be used at all. */
function checkAgents(kernel: Kernel, faults: readonly AgentFault[], json: boolean, io: Io): number {
  const reported = faults.map(({ file, ...one }) => ({
    code: 'VT_AGENT_DEFINITION',
    ...one,
    file: toDisplayPath(kernel, file),
  }))
  const bad = reported.some(({ severity }) => severity === 'error')
  if (json) io.stdout.write(formatDocument({ ok: !bad, remarks: reported }))
  else if (reported.length === 0) io.stdout.write('All definitions are valid.\n')
  else
    for (const { severity, message, line, file } of reported)
      say(io, severity, `${toOneLine(file)}:${line}: ${toOneLine(message)}`)
  return bad ? 1 : 0
}

function toDisplayPath({ workspace }: Kernel, file: string): string {
  const way = relative(workspace, file)
  return way.startsWith('..') || isAbsolute(way) ? file : way
}
