// Makes the man page of the program that tsc has built, so this module is imported after that.
import { Readable } from 'node:stream'
import { version } from '../build/core/index.js'
import { renderPlainText } from '../build/core/input/index.js'
import { readHelpText } from '../build/plugins/lib/terminal/index.js'

const { stdout, stderr } = process
const io = { stdin: Readable.from([]), stdout, stderr, env: {}, signal: new AbortController().signal }

/** Returns the man page: the help that each verb prints, then each tool with its effects. `kernel` has only built-ins. */
export async function makeManPage(kernel) {
  const surfaces = kernel.inspection
    .contributions()
    .filter(({ kind, verb }) => kind === 'surface' && verb && verb !== 'help')
  const overview = await readHelpText(kernel, 'help', io)
  const [flags, codes] = overview.split(/^(?=Flags of every verb|Exit codes:)/m).slice(1)
  const sections = []
  for (const verb of surfaces.map(({ verb }) => verb).sort()) {
    const help = (await readHelpText(kernel, verb, io)).replace(/\n\nFlags that every verb takes: .*/, '')
    sections.push(`.SS ${toLine(`vtcode ${verb}`)}\n${toBlock(help)}`)
  }
  const tools = kernel.list().map(({ tool, action, description, effects }) => {
    const summary = `${renderPlainText(description).split('\n')[0]} Effects: ${effects.join(', ') || 'none'}.`
    return `.TP\n.B ${toLine([tool, action].filter(Boolean).join(' '))}\n${toLine(summary)}\n`
  })
  return `.\\" Made by \`npm run build\` from the help of the program.
.TH VTCODE 1 "" "vtcode ${version}" "User Commands"
.SH NAME
vtcode \\- a runtime for coding\\-agent tools
.SH SYNOPSIS
.B vtcode
.RI [ flags ]
.I verb
.RI [ words ]
.SH DESCRIPTION
Calls tools that read, search and change a workspace and run its commands, under policies; serves them over MCP;
works on tasks with a model. In a terminal, vtcode alone is a chat.
.SH FLAGS
${toBlock(flags)}.SH VERBS
${sections.join('')}.SH TOOLS
What vtcode call calls; vtcode call TOOL ACTION \\-\\-help says more of one.
${tools.join('')}.SH EXIT STATUS
${toLine(codes.split('\n')[0])}
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

/** Escapes what roff would take for a request. */
const quote = (text) =>
  text
    .replaceAll('\\', '\\e')
    .replaceAll('-', '\\-')
    .replace(/^(?=[.'])/gm, '\\&')
const toLine = (text) => quote(text.replace(/\s+/g, ' ').trim())
const toBlock = (text) => `.nf\n${quote(text.trimEnd())}\n.fi\n`
