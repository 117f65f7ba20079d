import { ok, problem, VtError, type Context, type Handler } from '../../core/index.js'
import { pluralize, createSlotError } from '../lib/base/index.js'
import { waitForRedaction } from '../lib/state/index.js'
import { readEnds, searchSource, type QueryMatches } from './session/query.js'
import { openScreen } from './session/screen.js'
import type { CommandSession } from './session/session.js'
import { getSessions } from './session/sessions.js'
import { joinSources, createFileSource, createLogSource, type StreamSource } from './session/source.js'

interface InspectInput {
  session_id?: string
  spool_path?: string
  stream: 'stdout' | 'stderr' | 'both'
  head_lines?: number
  tail_lines?: number
  query?: string
  literal: boolean
  max_matches: number
  screen?: boolean
}

/** `unified_exec/inspect`: reads the log of a session or a spool file without consuming anything. */
export default (async ({ input }, context) => {
  if (input.spool_path !== undefined) {
    await using source = await openSpoolFile(input.spool_path, context)
    return await inspectSource(source, input, { spool_path: input.spool_path }, context)
  }
  const session = getSessions(context).find(input.session_id!)
  const { running, exit } = session
  const state = { session_id: session.facts.id, running, exit_code: running ? null : (exit?.exit_code ?? null) }
  if (input.screen) return inspectScreen(session, state)
  return await inspectSource(selectLogs(session, input.stream), input, state, context)
}) satisfies Handler<InspectInput>

async function inspectSource(source: StreamSource, input: InspectInput, state: object, context: Context) {
  if (input.query !== undefined) {
    const found = await searchSource(
      source,
      { query: input.query, literal: input.literal, limit: input.max_matches },
      context,
    )
    return ok(
      { ...state, output: '', ...found, truncated: found.matches.length < found.matched_count },
      { text: formatMatches(found) },
    )
  }
  const { head_lines: head = 30, tail_lines: tail = 30 } = input
  const { output, total_lines, omitted } = await readEnds(source, head, tail)
  return ok({ ...state, output, total_lines, truncated: omitted > 0 }, { text: output })
}

function formatMatches({ matches, matched_count }: QueryMatches): string {
  const rows = matches.map(({ line_number, text }) => `${line_number}: ${text}\n`)
  const shown = matches.length < matched_count ? `${matches.length} of ` : ''
  return `${rows.join('')}${shown}${pluralize(matched_count, 'match', 'matches')}\n`
}

async function inspectScreen(session: CommandSession, state: object) {
  if (session.plain)
    throw problem('VT_INPUT_INVALID', { problem: `'screen' needs a terminal; '${session.facts.id}' runs on pipes.` })
  const { rows, cursor_row, cursor_col } = await (await openScreen(session)).picture()
  const output = rows.join('\n').trimEnd()
  return ok(
    { ...state, output, total_lines: rows.length, truncated: false, screen: rows, cursor_row, cursor_col },
    { text: `${output}\n[cursor at row ${cursor_row}, column ${cursor_col}]\n` },
  )
}

function selectLogs(session: CommandSession, stream: InspectInput['stream']): StreamSource {
  const [out, err] = [session.stdout, session.stderr].map((log) => createLogSource(log, session.findEnd(log).at))
  if (stream === 'stdout') return out!
  if (stream === 'stderr') return err!
  return err!.size === 0 ? out! : joinSources(out!, err!)
}

async function openSpoolFile(path: string, { workspace }: Context): Promise<StreamSource & AsyncDisposable> {
  if (!path.startsWith('.vtcode/spool/')) {
    const next = { tool: 'unified_file', input: { action: 'read', path } }
    throw problem('VT_INPUT_INVALID', { problem: `'spool_path' '${path}' is outside .vtcode/spool/.` }, { next })
  }
  await waitForRedaction(path)
  try {
    return createFileSource(await workspace.openFile(path))
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
    throw createSlotError('VT_EXEC_SPOOL', `The spool file '${path}' was removed.`)
  }
}
