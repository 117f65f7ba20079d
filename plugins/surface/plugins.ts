import { isAbsolute, relative } from 'node:path'
import type { ContributionInfo, Io, Kernel } from '../../core/index.js'
import { columns, oneLine, paint, say } from '../shared/terminal.js'

const usage = 'Usage: vtcode plugins list [--json]\n\nLists every manifest that was found with its one state, the layer it comes from, its file, and why it is not active.\n'

/** `vtcode plugins`: everything that was found, and what became of it. */
export default async function plugins(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const [verb, ...flags] = argv
  const wrong = flags.find((flag) => flag !== '--json')
  if (argv.includes('--help')) {
    io.stdout.write(usage)
    return 0
  }
  if (verb !== 'list' || wrong !== undefined) {
    say(io, 'error', `${wrong === undefined ? 'Say `vtcode plugins list`.' : `Unknown word '${wrong}'.`}\n${usage}`)
    return 2
  }
  const found = kernel.contributions()
  io.stdout.write(flags.includes('--json') ? `${JSON.stringify({ contributions: found })}\n` : render(found, kernel.workspace, io))
  return 0
}

function render(found: ContributionInfo[], workspace: string, io: Io): string {
  const { bold } = paint(io.stdout, io.env)
  const rows = found.map((one) => [one.id, one.kind, one.state, one.slot ?? one.verb ?? '', one.layer, shorter(one.file, workspace), oneLine(one.reason ?? '')])
  const [head, ...lines] = columns([['plugin', 'kind', 'state', 'serves', 'layer', 'file', 'reason'], ...rows]).split('\n')
  return [bold(head!), ...lines].join('\n')
}

function shorter(file: string, workspace: string): string {
  const inside = relative(workspace, file)
  return oneLine(inside.startsWith('..') || isAbsolute(inside) ? file : inside)
}
