import { version, type Io, type Kernel, type SlotInfo } from '../../../core/index.js'
import { plainly } from '../../../core/input/index.js'
import { helpText } from '../../lib/terminal/index.js'

/** The man page, of the help that every verb prints and the tools that there are. */
export async function manPage(kernel: Kernel, slots: SlotInfo[], io: Io): Promise<string> {
  const verbs = kernel.contributions().flatMap((one) => (one.kind === 'surface' && one.layer === 'builtin' && one.state === 'active' && one.verb ? [one.verb] : []))
    const [flags = '', codes = ''] = (await helpText(kernel, 'help', io)).split(/^(?=Flags of every verb|Exit codes:)/m).slice(1)
  const helps: string[] = []
  for (const verb of verbs.sort()) if (verb !== 'help') helps.push(`.SS ${line(`vtcode ${verb}`)}\n${asIs((await helpText(kernel, verb, io)).replace(/\n\nFlags that every verb takes: .*/, ''))}`)
  const said = ({ effects, description }: SlotInfo) => line(`${plainly(description).split('\n')[0]!} Effects: ${effects.join(', ') || 'none'}.`)
  const tools = slots.map((slot) => `.TP\n.B ${line([slot.tool, slot.action].filter(Boolean).join(' '))}\n${said(slot)}\n`)
  return `.\\" Made by \`npm run docs\` from the help of the program. Change that, not this.
.TH VTCODE 1 "" "vtcode ${version}" "User Commands"
.SH NAME
vtcode \\- a runtime for coding\\-agent tools
.SH SYNOPSIS
.B vtcode
.RI [ flags ]
.I verb
.RI [ words ]
.SH DESCRIPTION
Calls tools that read, search and change a workspace and run its commands, under policies; serves them over MCP; works on tasks with a model. In a terminal, vtcode alone is a chat.
.SH FLAGS
${asIs(flags)}.SH VERBS
${helps.join('')}.SH TOOLS
What vtcode call calls; vtcode call TOOL ACTION \\-\\-help says more of one.
${tools.join('')}.SH EXIT STATUS
${line(codes.split('\n')[0]!)}
.SH FILES
.TP
.I ~/.vtcode/vtcode.config.yaml
Your settings; vtcode config schema prints what may stand in them.
.TP
.I vtcode.config.yaml, .vtcode/
Settings and state of a workspace.
.SH ENVIRONMENT
.TP
.B VTCODE_HOME
The folder in the place of ~/.vtcode.
.TP
.B VTCODE_MODEL
The model, in the place of agent.model.
.TP
.B NO_COLOR
No colors.
.SH SEE ALSO
vtcode help, vtcode tour
`
}

/** A text for roff: no sign of it is a request. */
const quoted = (text: string): string => text.replaceAll('\\', '\\e').replaceAll('-', '\\-').replace(/^(?=[.'])/gm, '\\&')
const line = (text: string): string => quoted(text.replace(/\s+/g, ' ').trim())
const asIs = (text: string): string => `.nf\n${quoted(text.trimEnd())}\n.fi\n`
