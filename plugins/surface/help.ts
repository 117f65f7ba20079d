import { findNearest } from '../../core/text/index.js'
import { version, type Io, type Kernel } from '../../core/index.js'
import { formatColumns, cutLine, HELP_WIDTH, toOneLine, createPaint, say } from '../lib/terminal/index.js'

/** Runs `vtcode help`: lists the active verbs; `vtcode help <verb>` equals `vtcode <verb> --help`. */
export default async function help(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const flag = argv.find((word) => word.startsWith('-') && word !== '--help' && word !== '-h')
  if (flag !== undefined) {
    say(io, 'error', `Unknown option '${toOneLine(flag)}'; name a verb instead.`)
    return 2
  }
  const [verb, ...rest] = argv.filter((word) => !word.startsWith('-'))
  if (verb === undefined) return printOverview(kernel, io)
  const surface = verb === 'help' ? undefined : await kernel.inspection.loadSurface(verb)
  if (surface) return surface(kernel, [...rest, '--help'], io)
  if (verb === 'help') return printOverview(kernel, io)
  const verbs = kernel.inspection
    .contributions()
    .flatMap((one) => (one.kind === 'surface' && one.state === 'active' && one.verb ? [one.verb] : []))
  const like = findNearest(verb, verbs)
  say(
    io,
    'error',
    `Unknown verb '${toOneLine(verb)}'${like ? ` (did you mean ${like}?)` : ''}; known verbs: ` +
      `${verbs.sort().join(', ')}.`,
  )
  return 2
}

/** Verbs that share a row, so that the list fits a screen. */
const SHARED_ROWS: readonly (readonly [string, string])[] = [
  ['trace, export, inspect', 'Show a session: as a page, for programs, live.'],
  ['mcp, acp', 'Serve the tools to MCP clients, the agent to editors.'],
  ['replay, eval', 'Compare recorded sessions with now; make and run tasks.'],
  ['skills, plugins', 'List, show, check, create and install skills and plugins.'],
  ['schedule, worker, queue', 'Start tasks at set times; run them on other machines.'],
  ['verify, review', 'Rerun the commands of a certificate; review a change.'],
  ['undo, revert', 'Undo the last call; revert turns of a session.'],
]

function printOverview(kernel: Kernel, io: Io): number {
  const { bold } = createPaint(io.stdout, io.env)
  const active = kernel.inspection.contributions().filter(({ kind, state }) => kind === 'surface' && state === 'active')
  const descriptions = new Map(active.map(({ verb = '', description }) => [verb, toOneLine(description ?? '')]))
  // The last line mentions `help`; `docs` is for contributors to vtcode only.
  for (const verb of ['help', 'docs']) descriptions.delete(verb)
  for (const [verbs, description] of SHARED_ROWS) {
    const [first, ...others] = verbs.split(', ').filter((verb) => descriptions.has(verb))
    if (first === undefined || others.length === 0) continue
    for (const verb of [first, ...others]) descriptions.delete(verb)
    descriptions.set([first, ...others].join(', '), description)
  }
  const verbs = [...descriptions]
    .map(([verb, description]) => [`  ${verb}`, description])
    .sort(([a], [b]) => (a! < b! ? -1 : 1))
  io.stdout.write(`${bold(`vtcode ${version}`)}: a runtime for coding-agent tools
Usage: vtcode [flags] <verb> …; in a terminal \`vtcode\` alone is \`vtcode chat\`

${formatColumns(verbs)
  .split('\n')
  .map((row) => cutLine(row, HELP_WIDTH))
  .join('\n')}
Flags of every verb (for call, before the tool's name):
  --workspace DIR       default: the nearest folder upwards with .vtcode or .git
  --mode MODE           plan (reads only), ask, auto, full-auto
  --config FILE         other settings; -c a.b=value sets a single one
  --home DIR            use this folder as your home
  --allowed-tools A,B   no other tools; --disallowed-tools A,B takes some away
  --quiet, --verbose    or --log-level debug|info|warn|error; --no-color

Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 130 interrupted.
\`vtcode help <verb>\` describes a verb. New here? \`vtcode init\`, \`vtcode tour\`.
`)
  return 0
}
