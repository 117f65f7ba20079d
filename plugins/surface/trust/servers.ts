import { visible } from '../../../core/text/index.js'
import { problem, type Io } from '../../../core/index.js'
import { diffTexts } from '../../lib/files/index.js'
import { KeptServer, toolLines, type ServerChange } from '../../lib/state/index.js'
import { confirm, isInteractive, toOneLine, createPaint, say } from '../../lib/terminal/index.js'

/** Nothing is left out of what is agreed to. */
const whole = { lines: Infinity, bytes: Infinity }

/** Shows what servers changed since consent and asks whether to use it. Returns the exit code. */
export async function askServers(
  home: string,
  names: readonly string[],
  { yes }: { yes?: true },
  io: Io,
): Promise<number> {
  const all = KeptServer.all(home)
  const known = [...new Set(all.map(({ server }) => server))]
  const strange = names.filter((name) => !known.includes(name))
  if (strange.length > 0) {
    say(
      io,
      'error',
      `There is no server ${strange.map(toOneLine).join(', ')} that was ever started; there are: ${known.map(toOneLine).join(', ') || 'none'}.`,
    )
    return 2
  }
  const waiting = all.filter(
    ({ server, changes }) => (names.length === 0 || names.includes(server)) && changes.length > 0,
  )
  if (waiting.length === 0) io.stdout.write(unchangedText(names))
  let left = 0
  for (const server of waiting) {
    const { changes } = server
    if (!yes) io.stderr.write(`${shownChanges(server.server, changes, io)}\n`)
    if (yes || (isInteractive(io) && (await confirm(io, `Use what ${toOneLine(server.server)} offers now?`))))
      agree(server, changes, io)
    else left++
    if (io.signal.aborted) return 1
  }
  const command = `vtcode trust server ${waiting.map(({ server }) => toOneLine(server)).join(' ')} --yes`
  if (left > 0 && !isInteractive(io))
    say(io, 'error', `${left} not agreed to, and there is no terminal to ask at. To agree to what is shown: ${command}`)
  return left === 0 ? 0 : 1
}

function unchangedText(names: readonly string[]): string {
  if (names.length === 0) return 'No server has changed what you agreed to.\n'
  return `${names.map(toOneLine).join(', ')}: nothing has changed since you agreed.\n`
}

/** Throws VT_TRUST_REFUSED where a tool of this program asks. */
function agree(server: KeptServer, changes: readonly ServerChange[], io: Io): void {
  if (io.env['VTCODE'] === '1') throw problem('VT_TRUST_REFUSED')
  server.agree(changes)
  io.stdout.write(
    `Agreed to ${changes.length} ${changes.length === 1 ? 'change' : 'changes'} of ${toOneLine(server.server)}.\n`,
  )
}

function shownChanges(server: string, changes: readonly ServerChange[], io: Io): string {
  const { bold } = createPaint(io.stderr, io.env)
  return changes
    .map(
      (change) =>
        `\n${bold(`${toOneLine(server)}: ${change.before.name === '' ? 'what it says of itself' : toOneLine(change.before.name)}`)}\n${difference(change)}`,
    )
    .join('\n')
}

/** In full, as a terminal may show it. */
const difference = ({ before, after }: ServerChange): string =>
  visible(
    diffTexts('tool', Buffer.from(toolLines(before)), Buffer.from(toolLines(after)), whole) ??
      `before:\n${toolLines(before)}\nnow:\n${toolLines(after)}`,
  )
