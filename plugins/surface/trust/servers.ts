import { visible } from '../../../core/text/index.js'
import { problem, type Io } from '../../../core/index.js'
import { diffTexts } from '../../lib/files/index.js'
import { ServerRecord, formatTool, type ServerChange } from '../../lib/state/index.js'
import { confirm, isInteractive, toOneLine, createPaint, say } from '../../lib/terminal/index.js'

/** Diff limits: the user sees every change before consent. */
const UNLIMITED = { lines: Infinity, bytes: Infinity }

/** Shows the changes of servers since consent and asks whether to use them. Returns the exit code. */
export async function askServers(
  home: string,
  names: readonly string[],
  { yes }: { yes?: true },
  io: Io,
): Promise<number> {
  const all = ServerRecord.list(home)
  const known = [...new Set(all.map(({ server }) => server))]
  const unknownNames = names.filter((name) => !known.includes(name))
  if (unknownNames.length > 0) {
    say(
      io,
      'error',
      `Server not found: ${unknownNames.map((name) => `'${toOneLine(name)}'`).join(', ')}; known: ` +
        `${known.map(toOneLine).join(', ') || 'none'}.`,
    )
    return 2
  }
  const waiting = all.filter(
    ({ server, changes }) => (names.length === 0 || names.includes(server)) && changes.length > 0,
  )
  if (waiting.length === 0) io.stdout.write(describeUnchanged(names))
  let remaining = 0
  for (const server of waiting) {
    const { changes } = server
    if (!yes) io.stderr.write(`${renderChanges(server.server, changes, io)}\n`)
    if (yes || (isInteractive(io) && (await confirm(io, `Use what ${toOneLine(server.server)} offers now?`))))
      acceptChanges(server, changes, io)
    else remaining++
    if (io.signal.aborted) return 1
  }
  const command = `vtcode trust server ${waiting.map(({ server }) => toOneLine(server)).join(' ')} --yes`
  if (remaining > 0 && !isInteractive(io))
    say(
      io,
      'error',
      `${remaining} not agreed to, and there is no terminal to ask at. To agree to what is shown: ${command}`,
    )
  return remaining === 0 ? 0 : 1
}

function describeUnchanged(names: readonly string[]): string {
  if (names.length === 0) return 'No server has changed what you agreed to.\n'
  return `${names.map(toOneLine).join(', ')}: nothing has changed since you agreed.\n`
}

/** Accepts the changes of a server. Throws VT_TRUST_REFUSED in a program that vtcode started. */
function acceptChanges(server: ServerRecord, changes: readonly ServerChange[], io: Io): void {
  if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
  server.accept(changes)
  io.stdout.write(
    `Agreed to ${changes.length} ${changes.length === 1 ? 'change' : 'changes'} of ${toOneLine(server.server)}.\n`,
  )
}

function renderChanges(server: string, changes: readonly ServerChange[], io: Io): string {
  const { bold } = createPaint(io.stderr, io.env)
  return changes
    .map(
      (change) =>
        `\n${bold(`${toOneLine(server)}: ${toOneLine(change.before.name || 'its description of itself')}`)}\n` +
        renderDifference(change),
    )
    .join('\n')
}

/** Renders a change in full, escaped for a terminal. */
const renderDifference = ({ before, after }: ServerChange): string =>
  visible(
    diffTexts('tool', Buffer.from(formatTool(before)), Buffer.from(formatTool(after)), UNLIMITED) ??
      `before:\n${formatTool(before)}\nnow:\n${formatTool(after)}`,
  )
