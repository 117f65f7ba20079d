import { ok, problem, VtError, type Context, type Handler } from '../../core/index.js'
import { pluralize, createSlotError } from '../lib/base/index.js'
import { blotted } from '../lib/state/index.js'
import { ends, searched, type QueryMatches } from './session/query.js'
import { screenOf } from './session/screen.js'
import type { CommandSession } from './session/session.js'
import { sessionsOf } from './session/sessions.js'
import { joined, ofFile, ofLog, type StreamSource } from './session/source.js'

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

/** `unified_exec/inspect`: looks at the log of a session or at a spool file without consuming anything. */
export default (async ({ input }, context) => {
  if (input.spool_path !== undefined) {
    await using source = await openSpooled(input.spool_path, context)
    return await look(source, input, { spool_path: input.spool_path }, context)
  }
  const session = sessionsOf(context).find(input.session_id!)
  const { running, exit } = session
  const state = { session_id: session.facts.id, running, exit_code: running ? null : (exit?.exit_code ?? null) }
  if (input.screen) return picture(session, state)
  return await look(logsOf(session, input.stream), input, state, context)
}) satisfies Handler<InspectInput>

async function look(source: StreamSource, input: InspectInput, state: object, context: Context) {
  if (input.query !== undefined) {
    const found = await searched(
      source,
      { query: input.query, literal: input.literal, most: input.max_matches },
      context,
    )
    return ok(
      { ...state, output: '', ...found, truncated: found.matches.length < found.matched_count },
      { text: matchText(found) },
    )
  }
  const { head_lines: head = 30, tail_lines: tail = 30 } = input
  const { output, total_lines, omitted } = await ends(source, head, tail)
  return ok({ ...state, output, total_lines, truncated: omitted > 0 }, { text: output })
}

function matchText({ matches, matched_count }: QueryMatches): string {
  const rows = matches.map(({ line_number, text }) => `${line_number}: ${text}\n`)
  return `${rows.join('')}${pluralize(matched_count, 'match', 'matches')}\n`
}

async function picture(session: CommandSession, state: object) {
  if (session.plain)
    throw problem('VT_INPUT_INVALID', { problem: `'screen' needs a terminal; '${session.facts.id}' runs on pipes.` })
  const { rows, cursor_row, cursor_col } = await (await screenOf(session)).picture()
  const output = rows.join('\n').trimEnd()
  return ok(
    { ...state, output, total_lines: rows.length, truncated: false, screen: rows, cursor_row, cursor_col },
    { text: `${output}\n[cursor at row ${cursor_row}, column ${cursor_col}]\n` },
  )
}

function logsOf(session: CommandSession, stream: InspectInput['stream']): StreamSource {
  const [out, err] = [session.stdout, session.stderr].map((log) => ofLog(log, session.endOf(log).at))
  if (stream === 'stdout') return out!
  if (stream === 'stderr') return err!
  return err!.size === 0 ? out! : joined(out!, err!)
}

async function openSpooled(path: string, { workspace }: Context): Promise<StreamSource & AsyncDisposable> {
  if (!path.startsWith('.vtcode/spool/')) {
    const next = { tool: 'unified_file', input: { action: 'read', path } }
    throw problem('VT_INPUT_INVALID', { problem: `'spool_path' '${path}' is not below .vtcode/spool/.` }, { next })
  }
  await blotted(path)
  try {
    return ofFile(await workspace.openFile(path))
  } catch (error) {
    if (!(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
    throw createSlotError('VT_EXEC_SPOOL', `The spool file '${path}' was removed.`)
  }
}
