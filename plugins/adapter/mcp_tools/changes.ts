import { isDeepStrictEqual } from 'node:util'
import { truncateLine, visible } from '../../../core/text/index.js'
import { VtError, type Context } from '../../../core/index.js'
import { diffTexts } from '../../lib/files/index.js'
import { formatTool, type ServerRecord, type ServerTool, type ServerChange } from '../../lib/state/index.js'

/** The part of a difference that a question or an error shows; `vtcode trust` shows the whole. */
const DIFF_LIMITS = { lines: 60, bytes: 4_000 }

/** Returns VT_MCP_TOOL_CHANGED. */
export function createChangeError(server: string, tool: string, what: string, diff?: string): VtError {
  const subject =
    tool === ''
      ? `The description of the MCP server ${server}`
      : `The tool ${truncateLine(tool, 80)} of the MCP server ${server}`
  return new VtError({
    code: 'VT_MCP_TOOL_CHANGED',
    message: `${subject} ${what}.`,
    hint:
      what === 'is new'
        ? 'You can call it now. To leave it out, use mcp.deny or `exclude` of the server.'
        : `\`vtcode trust server ${server}\` shows the difference and asks you; until then it is not used.`,
    retryable: false,
    ...(diff !== undefined && { details: { diff } }),
  })
}

/** Returns VT_MCP_NOTED, with an incident or a fault of a server. */
export const createNotedError = (server: string, what: string): VtError =>
  new VtError({
    code: 'VT_MCP_NOTED',
    message: `The MCP server ${server} ${visible(what)}.`,
    hint: 'Everything else works. Ask its author to fix it, or set `enabled: false` in its definition.',
    retryable: false,
  })

/** Formats the difference between two states of a tool. */
const formatDiff = ({ before, after }: ServerChange): string =>
  visible(
    diffTexts('tool', Buffer.from(formatTool(before)), Buffer.from(formatTool(after)), DIFF_LIMITS) ??
      '(too long to compare)',
  )

/**
 * Asks the caller once a session before a call of a tool that changed after consent, with the difference. Throws
 * VT_MCP_TOOL_CHANGED without consent.
 */
export async function requireAgreed(
  server: string,
  offered: ServerTool,
  kept: ServerRecord,
  { ask, session, signal }: Context,
): Promise<void> {
  const change = kept.changes.find(({ after }) => isDeepStrictEqual(after, offered))
  // The user may have agreed since this generation was built.
  if (!change && kept.offers?.tools.some((tool) => isDeepStrictEqual(tool, offered))) return
  const diff = change && formatDiff(change)
  const declined = session.state(`mcp_refused ${server}`, () => new Set<string>())
  if (change && ask && !declined.has(diff!)) {
    const question =
      `The MCP server ${server} has changed its tool ${truncateLine(offered.name, 80)} since you agreed to it. ` +
      `Lines marked > quote the server:\n${diff!.replaceAll('\n', '\n> ')}`
    const options = [
      { label: 'Agree', description: 'Use the tool in its new form.' },
      { label: 'Refuse', description: 'Do not make the call.' },
    ]
    const answers = await ask([{ id: 'agree', header: truncateLine(server, 24), question, options }], signal).catch(
      () => undefined,
    )
    if (answers?.['agree']?.selected[0] === 'Agree') return kept.accept([change])
    declined.add(diff!)
  }
  throw createChangeError(server, offered.name, 'has changed since you agreed to it', diff)
}
