import { StringDecoder } from 'node:string_decoder'
import { omitUndefined } from '../../../core/shapes/index.js'
import { redactText, truncateLine } from '../../../core/text/index.js'
import { ok, type Context, type Next, type Notice, type Result } from '../../../core/index.js'
import { formatNames, nextCall, notice } from '../../lib/base/index.js'
import type { MarkedProcess } from '../processes/process_tree.js'
import { toPlainText } from '../output/text.js'
import { drawDisplay, movesCursor } from './display.js'
import { readExcerpt, fitExcerpt, divideBudget, type StreamExcerpt } from '../output/excerpt.js'
import type { CommandSession } from './session.js'

export interface Delivery {
  max_output_tokens: number
  cursor?: number
  /** More members of the output, for slots that return more than a command. */
  more?: object
  /** A line before the status. */
  remark?: string
  notices?: Notice[]
}

const BYTES_PER_TOKEN = 4

/** Returns the result of an action with output: new output, the state of the command, and the next call. */
export async function deliver(
  session: CommandSession,
  { max_output_tokens, cursor: asked, more, remark = '', notices: given = [] }: Delivery,
): Promise<Result> {
  const { facts, transport, stdout, stderr } = session
  const tidyNotices = await session.takeTidyNotices()
  const { running } = session
  const { from, to, cursor } = session.take(asked)
  const [out, err] = await Promise.all([
    readExcerpt(stdout, from.stdout, to.stdout, session.plain),
    readExcerpt(stderr, from.stderr, to.stderr, session.plain),
  ])
  const share = divideBudget(max_output_tokens * BYTES_PER_TOKEN, out.bytes, err.bytes)
  const cut = { out: isCut(out, share.out), err: isCut(err, share.err) }
  const paths = {
    out: cut.out ? await stdout.saveSpool() : undefined,
    err: cut.err ? await stderr.saveSpool() : undefined,
  }
  const shown = { out: fitExcerpt(out, share.out, paths.out), err: fitExcerpt(err, share.err, paths.err) }

  const truncated = cut.out || cut.err
  const spool_path = paths.out ?? paths.err
  const next = findNextCall(session, running, spool_path)
  const exit = running ? undefined : session.exit
  const output = {
    session_id: facts.id,
    command: facts.command,
    cwd: facts.cwd,
    backend: transport.backend,
    running,
    exit_code: exit?.exit_code ?? null,
    signal: exit?.signal ?? null,
    timed_out: session.timed_out,
    duration_ms: session.duration_ms,
    ...(session.plain ? { stdout: shown.out, stderr: shown.err } : { output: shown.out }),
    truncated,
    stdout_bytes: stdout.total,
    stderr_bytes: stderr.total,
    ...omitUndefined({ spool_path }),
    ...(paths.out !== undefined && paths.err !== undefined && { stderr_spool_path: paths.err }),
    ...((stdout.spool_truncated || stderr.spool_truncated) && { spool_truncated: true }),
    cursor,
    pid: transport.pid,
    sandbox: facts.sandbox,
    ...omitUndefined({ checkpoint: facts.checkpoint?.reported, next }),
    ...more,
  }
  const display = await readDisplay(session, out, { from: from.stdout.at, to: to.stdout.at }, share.out)
  const text = `${display}${formatStreams(session, shown, display)}${endLine(remark)}${formatStatus(session, running)}`
  const notices = [...given, ...tidyNotices, ...createNotices(session, running)]
  return ok(output, { text, ...(notices.length > 0 && { notices }) })
}

/** Returns the screen of a terminal if its output moves the cursor or its program waits for input; '' otherwise. */
async function readDisplay(
  { plain, stdout, size, input }: CommandSession,
  { start, end = '' }: StreamExcerpt,
  part: { from: number; to: number },
  budget: number,
): Promise<string> {
  const isMoved = !plain && movesCursor(`${start}${end}`)
  if (plain || !size || !(isMoved || input.awaited)) return ''
  const screen = endLine(toPlainText(await drawDisplay(stdout, part, size, budget)))
  return isMoved ? `${screen}[the screen of the terminal; the output moved its cursor]\n` : screen
}

const isCut = ({ bytes, end }: StreamExcerpt, share: number): boolean => end !== undefined || bytes > share

function findNextCall({ facts }: CommandSession, running: boolean, spool_path: string | undefined): Next | undefined {
  if (running) return nextCall('poll', { session_id: facts.id })
  return spool_path === undefined ? undefined : nextCall('inspect', { spool_path })
}

/** Formats the output of the streams; that of a terminal only if it is not displayed. */
function formatStreams(
  { plain }: CommandSession,
  { out, err }: Record<'out' | 'err', string>,
  display: string,
): string {
  if (display !== '') return ''
  return endLine(plain ? out : toPlainText(out)) + (err === '' ? '' : `[stderr]\n${endLine(err)}`)
}

const endLine = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** Formats the state of a command in one line. */
function formatStatus({ facts, exit, timed_out, time, input, duration_ms }: CommandSession, running: boolean): string {
  const after = `${(duration_ms / 1000).toFixed(1)} s`
  if (running) return `running, session ${facts.id}${input.awaited ? ', waits for input' : ''}`
  if (timed_out) return `timed out after ${time.limit.seconds} s${input.awaited ? ', while it waited for input' : ''}`
  if (!exit || exit.exit_code === null) return `killed by ${exit?.signal ?? 'a signal'} after ${after}`
  const missing = exit.exit_code === 127 && typeof facts.command === 'string' ? ': program not found in PATH' : ''
  // The caller must know why a file or the network was unavailable.
  const confined = ` (in the sandbox${facts.network ? '' : ', without network'})`
  const where = facts.sandbox === 'bwrap' && exit.exit_code !== 0 ? confined : ''
  return `exit ${exit.exit_code} in ${after}${missing}${where}`
}

function createNotices(session: CommandSession, running: boolean): Notice[] {
  const { children_ended, survivors, facts } = session
  const notices: Notice[] = []
  if (children_ended) {
    const keep =
      facts.sandbox === 'bwrap' ? 'in the sandbox nothing outlives its command' : 'give background: true to keep it'
    notices.push(notice('VT_EXEC_CHILDREN_ENDED', `Background processes of the command were ended with it; ${keep}.`))
  }
  if (survivors.length > 0) notices.push(notice('VT_EXEC_SURVIVORS', describeSurvivors(survivors, facts.background)))
  if (session.input.awaited && (running || session.timed_out)) {
    const id = `session_id '${facts.id}'`
    const ways = running
      ? `Send it input or keys (write), wait on (poll), or end it (close), each with ${id}.`
      : 'Run it with background: true and send input with its session_id, or give the answers as input or options.'
    notices.push(notice('VT_EXEC_INPUT', `The program ${running ? 'waits' : 'waited'} for input. ${ways}`))
  }
  return notices
}

const MAX_NAMED = 8

function describeSurvivors(survivors: MarkedProcess[], background: boolean): string {
  const names = survivors.map(({ pid, command }) => `${pid} ${truncateLine(redactText(command), 60)}`)
  const end = background
    ? 'Those that left the session of the command stay; close ends the others.'
    : 'They end with this session; give background: true to keep them.'
  return `Still running after the command: ${formatNames(names, MAX_NAMED)}. ${end}`
}

// The shortest interval of progress reports, and the most characters in one.
const PROGRESS_PACE = { ms: 100, units: 2000 }

/** Reports new output to the progress listener of the caller; of much output only the end. */
export function reportProgress(session: CommandSession, context: Context): () => void {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  let lately = ''
  let timer: NodeJS.Timeout | undefined
  const flush = (): void => {
    timer = undefined
    const text = toPlainText(lately)
    lately = ''
    if (text !== '') context.progress({ text })
  }
  const off = session.watch((stream, chunk) => {
    // Decoding copies the chunk, which the next chunk of any program overwrites.
    lately = (lately + decoders[stream].write(chunk.subarray(-PROGRESS_PACE.units))).slice(-PROGRESS_PACE.units)
    timer ??= setTimeout(flush, PROGRESS_PACE.ms)
  })
  return () => {
    clearTimeout(timer)
    flush()
    off()
  }
}
