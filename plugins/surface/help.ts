import { version, type Io, type Kernel } from '../../core/index.js'
import { columns, oneLine, paint } from '../lib/terminal/index.js'

/** `vtcode help`: the verbs that are there, built-in or not. */
export default async function help(kernel: Kernel, _argv: string[], io: Io): Promise<number> {
  const { bold } = paint(io.stdout, io.env)
  const verbs = kernel
    .contributions()
    .filter(({ kind, state }) => kind === 'surface' && state === 'active')
    .map(({ verb, description }) => [`  ${verb}`, oneLine(description ?? '')])
    .sort(([a], [b]) => (a! < b! ? -1 : 1))
  io.stdout.write(`${bold(`vtcode ${version}`)}: a runtime for coding-agent tools

Usage: vtcode [flags] <verb> …; in a terminal \`vtcode\` alone is \`vtcode chat\`

${columns(verbs)}
Flags of every verb (for call, before the tool's name):
  --workspace DIR       work in this folder; default: the nearest one upwards with settings, .vtcode or .git
  --mode MODE           plan (reads only), ask, auto, full-auto
  --config FILE         settings instead of the workspace's; -c a.b=value sets a single one
  --home DIR            stands for your home folder
  --allowed-tools A,B   no other tools; --disallowed-tools A,B takes some away; neither gives any
  --verbose             show what plugins say of themselves; --log-level LEVEL from debug, info, warn or error on
  --quiet               say only what goes wrong
  --no-color            no colours; NO_COLOR=1 does the same

Exit codes: 0 done, 1 failed, 2 usage, 3 configuration, 130 interrupted.
New here? \`vtcode tour\` shows it at work in this folder.
`)
  return 0
}
