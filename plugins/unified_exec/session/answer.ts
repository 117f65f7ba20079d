import { StringDecoder } from 'node:string_decoder'
import { definedOnly } from '../../../core/shapes/index.js'
import { ok, type Context, type Next, type Notice, type Result } from '../../../core/index.js'
import { pluralize, nextCall, notice } from '../../lib/base/index.js'
import { plainText } from '../output/text.js'
import { excerptOf, fitExcerpt, shares, type StreamExcerpt } from './excerpt.js'
import type { CommandSession } from './session.js'

export interface Delivery {
  max_output_tokens: number
  cursor?: number
  /** More members of the output, for slots that answer more than a command. */
  more?: object
  /** A line of the text before the status. */
  remark?: string
}

const bytesPerToken = 4

/** The answer of an action with output: what is new, the state of the command, and how to go on. */
export async function deliver(
  session: CommandSession,
  { max_output_tokens, cursor: asked, more, remark }: Delivery,
): Promise<Result> {
  const { facts, transport, stdout, stderr } = session
  const aside = await session.putAside()
  const { running } = session
  const { from, to, cursor } = session.take(asked)
  const [out, err] = await Promise.all([
    excerptOf(stdout, from.stdout, to.stdout, session.plain),
    excerptOf(stderr, from.stderr, to.stderr, session.plain),
  ])
  const share = shares(max_output_tokens * bytesPerToken, out.bytes, err.bytes)
  const cut = { out: isCut(out, share.out), err: isCut(err, share.err) }
  const paths = { out: cut.out ? await stdout.keep() : undefined, err: cut.err ? await stderr.keep() : undefined }
  const shown = { out: fitExcerpt(out, share.out, paths.out), err: fitExcerpt(err, share.err, paths.err) }

  const truncated = cut.out || cut.err
  const spool_path = paths.out ?? paths.err
  const next = nextOf(session, running, spool_path)
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
    ...definedOnly({ spool_path }),
    ...(paths.out !== undefined && paths.err !== undefined && { stderr_spool_path: paths.err }),
    ...((stdout.spool_truncated || stderr.spool_truncated) && { spool_truncated: true }),
    cursor,
    pid: transport.pid,
    sandbox: facts.sandbox,
    ...definedOnly({ checkpoint: facts.checkpoint, next }),
    ...more,
  }
  const text = `${streams(session.plain, shown)}${line(remark ?? '')}${status(session, running)}`
  const notices = [...aside, ...noticesOf(session)]
  return ok(output, { text, ...(notices.length > 0 && { notices }) })
}

const isCut = ({ bytes, end }: StreamExcerpt, share: number): boolean => end !== undefined || bytes > share

function nextOf({ facts }: CommandSession, running: boolean, spool_path: string | undefined): Next | undefined {
  if (running) return nextCall('poll', { session_id: facts.id })
  return spool_path === undefined ? undefined : nextCall('inspect', { spool_path })
}

function streams(plain: boolean, { out, err }: { out: string; err: string }): string {
  return line(plain ? out : plainText(out)) + (err === '' ? '' : `[stderr]\n${line(err)}`)
}

const line = (text: string): string => (text === '' || text.endsWith('\n') ? text : `${text}\n`)

/** How a command stands, in one line. */
function status({ facts, exit, timed_out, duration_ms }: CommandSession, running: boolean): string {
  const after = `${(duration_ms / 1000).toFixed(1)} s`
  if (running) return `running, session ${facts.id}`
  if (timed_out) return `timed out after ${facts.limit.seconds} s`
  if (!exit || exit.exit_code === null) return `killed by ${exit?.signal ?? 'a signal'} after ${after}`
  const missing = exit.exit_code === 127 && typeof facts.command === 'string' ? ': program not found in PATH' : ''
  // Whoever wonders why a file or the network was out of reach has to know.
  const confined = ` (in the sandbox${facts.network ? '' : ', without network'})`
  const where = facts.sandbox === 'bwrap' && exit.exit_code !== 0 ? confined : ''
  return `exit ${exit.exit_code} in ${after}${missing}${where}`
}

function noticesOf({ children_ended, survivors, facts }: CommandSession): Notice[] {
  const pids = survivors.slice(0, 8).join(', ')
  const notices: Notice[] = []
  if (children_ended) {
    const keep =
      facts.sandbox === 'bwrap' ? 'in the sandbox nothing outlives its command' : 'say background: true to keep it'
    notices.push(notice('VT_EXEC_CHILDREN_ENDED', `What the command had left running was ended with it; ${keep}.`))
  }
  if (survivors.length > 0) {
    const who = `${pluralize(survivors.length, 'process', 'processes')} that left the command's session`
    notices.push(
      notice('VT_EXEC_SURVIVORS', `Still running: ${who} (${pids}); only a sandbox (bubblewrap) ends those too.`),
    )
  }
  return notices
}

// As often as a caller is told at most, and how much of what came since.
const pace = { ms: 100, units: 2000 }

/** Tells the caller's progress listener what came lately, the end of it where it is much. */
export function reportProgress(session: CommandSession, context: Context): () => void {
  const decoders = { stdout: new StringDecoder('utf8'), stderr: new StringDecoder('utf8') }
  let lately = ''
  let timer: NodeJS.Timeout | undefined
  const tell = (): void => {
    timer = undefined
    const text = plainText(lately)
    lately = ''
    if (text !== '') context.progress({ text })
  }
  const off = session.watch((stream, chunk) => {
    // A text is a copy: the chunk is overwritten by the next one of any program.
    lately = (lately + decoders[stream].write(chunk.subarray(-pace.units))).slice(-pace.units)
    timer ??= setTimeout(tell, pace.ms)
  })
  return () => {
    clearTimeout(timer)
    tell()
    off()
  }
}
