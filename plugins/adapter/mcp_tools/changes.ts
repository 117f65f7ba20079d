import { isDeepStrictEqual } from 'node:util'
import { shortLine, visible } from '../../../core/text/index.js'
import { VtError, type Context } from '../../../core/index.js'
import { diffTexts } from '../../lib/files/index.js'
import { toolLines, type KeptServer, type KeptTool, type ServerChange } from '../../lib/state/index.js'

/** What of a difference is shown with a question or an error; `vtcode trust` shows all of it. */
const room = { lines: 60, bytes: 4_000 }

/** VT_MCP_TOOL_CHANGED. */
export function changed(server: string, tool: string, what: string, diff?: string): VtError {
  const subject =
    tool === ''
      ? `What the MCP server ${server} says of itself`
      : `The tool ${shortLine(tool, 80)} of the MCP server ${server}`
  return new VtError({
    code: 'VT_MCP_TOOL_CHANGED',
    message: `${subject} ${what}.`,
    hint:
      what === 'is new'
        ? 'It is offered with the others; mcp.deny or `exclude` of the server leaves it out.'
        : `\`vtcode trust server ${server}\` shows the difference and asks; nothing of it is used before.`,
    retryable: false,
    ...(diff !== undefined && { details: { diff } }),
  })
}

/** VT_MCP_NOTED, with what a server did or lists. */
export const noted = (server: string, what: string): VtError =>
  new VtError({
    code: 'VT_MCP_NOTED',
    message: `The MCP server ${server} ${visible(what)}.`,
    hint: 'Everything else goes on; its author can fix it, and `enabled: false` in its definition leaves it out.',
    retryable: false,
  })

/** The difference between two states of a tool. */
const diffOf = ({ before, after }: ServerChange): string =>
  visible(
    diffTexts('tool', Buffer.from(toolLines(before)), Buffer.from(toolLines(after)), room) ?? '(too long to compare)',
  )

/**
 * A call of a tool that is not what was agreed to: whoever calls is asked once a session, with the difference. Throws
 * VT_MCP_TOOL_CHANGED unless they agree.
 */
export async function requireAgreed(
  server: string,
  offered: KeptTool,
  kept: KeptServer,
  { ask, session, signal }: Context,
): Promise<void> {
  const change = kept.changes.find(({ after }) => isDeepStrictEqual(after, offered))
  // Agreed to since this generation was built.
  if (!change && kept.offers?.tools.some((tool) => isDeepStrictEqual(tool, offered))) return
  const diff = change && diffOf(change)
  const declined = session.state(`mcp_refused ${server}`, () => new Set<string>())
  if (change && ask && !declined.has(diff!)) {
    const question = `The MCP server ${server} has changed its tool ${shortLine(offered.name, 80)} since you agreed to it. Its words stand behind marks:\n${diff!.replaceAll('\n', '\n> ')}`
    const options = [
      { label: 'Agree', description: 'The tool is used as it is now.' },
      { label: 'Refuse', description: 'The call is not made.' },
    ]
    const answers = await ask([{ id: 'agree', header: shortLine(server, 24), question, options }], signal).catch(
      () => undefined,
    )
    if (answers?.['agree']?.selected[0] === 'Agree') return kept.agree([change])
    declined.add(diff!)
  }
  throw changed(server, offered.name, 'is not what it was when it was agreed to', diff)
}
