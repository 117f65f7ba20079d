import { nearest } from '../../core/text/index.js'
import { version, type Io, type Kernel } from '../../core/index.js'
import { formatColumns, cutLine, HELP_WIDTH, toOneLine, createPaint, say } from '../lib/terminal/index.js'

/** `vtcode help`: the verbs that are there, built-in or not; `vtcode help <verb>` is `vtcode <verb> --help`. */
export default async function help(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  const flag = argv.find((word) => word.startsWith('-') && word !== '--help' && word !== '-h')
  if (flag !== undefined) {
    say(io, 'error', `Unknown option '${toOneLine(flag)}'; help takes the name of a verb.`)
    return 2
  }
  const [verb, ...rest] = argv.filter((word) => !word.startsWith('-'))
  if (verb === undefined) return overview(kernel, io)
  const surface = verb === 'help' ? undefined : await kernel.inspection.loadSurface(verb)
  if (surface) return surface(kernel, [...rest, '--help'], io)
  if (verb === 'help') return overview(kernel, io)
  const verbs = kernel.inspection
    .contributions()
    .flatMap((one) => (one.kind === 'surface' && one.state === 'active' && one.verb ? [one.verb] : []))
  const like = nearest(verb, verbs)
  say(
    io,
    'error',
    `Unknown verb '${toOneLine(verb)}'${like ? ` (did you mean ${like}?)` : ''}; known verbs: ${verbs.sort().join(', ')}.`,
  )
  return 2
}

/** Verbs that share a row, so that the whole fits a screen. */
const rows: readonly (readonly [string, string])[] = [
  ['trace, export, inspect', 'See what happened: as a page, for programs, live.'],
  ['verify, review', 'Prove work again; look for faults in a change.'],
  ['undo, revert', 'Undo the last call; take back turns of a session.'],
]

function overview(kernel: Kernel, io: Io): number {
  const { bold } = createPaint(io.stdout, io.env)
  const active = kernel.inspection.contributions().filter(({ kind, state }) => kind === 'surface' && state === 'active')
  const there = new Map(active.map(({ verb = '', description }) => [verb, toOneLine(description ?? '')]))
  // How to ask for help stands below the list; what writes the pages of this project is for those who work on it.
  for (const verb of ['help', 'docs']) there.delete(verb)
  for (const [verbs, description] of rows) {
    const [first, ...others] = verbs.split(', ').filter((verb) => there.has(verb))
    if (first === undefined || others.length === 0) continue
    for (const verb of [first, ...others]) there.delete(verb)
    there.set([first, ...others].join(', '), description)
  }
  const verbs = [...there]
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
\`vtcode help <verb>\` says more. New here? \`vtcode init\`, \`vtcode tour\`.
`)
  return 0
}
