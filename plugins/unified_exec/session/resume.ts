import { signalGroup } from '../../../core/system/index.js'
import { problem, type Call, type Context, type Result } from '../../../core/index.js'
import { nextCall, createSlotError } from '../../lib/base/index.js'
import { deliver, reportProgress } from './answer.js'
import { sequenceOf } from './keys.js'
import { screenOf } from './screen.js'
import type { CommandSession } from './session.js'
import { sessionsOf } from './sessions.js'
import type { Size } from './transport.js'

/** What the actions that continue a session have in common. */
export interface GoOn extends Partial<Size> {
  session_id: string
  input?: string
  /** The input comes from a clipboard: the program may treat it as one thing. */
  paste?: boolean
  keys?: string[]
  eof?: boolean
  yield_time_ms?: number
  cursor?: number
  max_output_tokens?: number
}

const patience = { write: 250, poll: 1000 }

const sendsSomething = ({ input, keys, eof }: GoOn): boolean =>
  (input ?? '') !== '' || (keys?.length ?? 0) > 0 || eof === true

/** Sends what is given, waits for output and delivers it. Errors: VT_EXEC_SESSION, VT_EXEC_CLOSED, VT_INPUT_INVALID. */
export async function resume({ input }: Call<GoOn>, context: Context): Promise<Result> {
  const session = sessionsOf(context).find(input.session_id)
  const { rows, cols, cursor } = input
  if (rows !== undefined || cols !== undefined) session.resize({ ...(rows && { rows }), ...(cols && { cols }) })
  const sends = sendsSomething(input)
  if (sends) send(session, { ...input, ...(input.paste && { input: await pasted(session, input.input ?? '') }) })

  const late = cursor !== undefined && session.hasOutputAfter(cursor)
  const ms = late ? 0 : (input.yield_time_ms ?? (sends ? patience.write : patience.poll))
  const stop = reportProgress(session, context)
  try {
    if (ms > 0) await session.wait(ms, context.signal, { forOutput: true })
  } finally {
    stop()
  }
  const max_output_tokens = input.max_output_tokens ?? context.settings.exec.max_output_tokens
  return deliver(session, { max_output_tokens, ...(cursor !== undefined && { cursor }) })
}

/** Text as a terminal sends what is pasted: in brackets if the program asked for them, which the text cannot close by itself. */
async function pasted(session: CommandSession, text: string): Promise<string> {
  if (session.plain)
    throw problem('VT_INPUT_INVALID', { problem: `'paste' needs a terminal; '${session.facts.id}' runs on pipes.` })
  const typed = text.replace(/\r?\n/g, '\r')
  return (await (await screenOf(session)).pastes()) ? `\x1b[200~${typed.replaceAll('\x1b', '')}\x1b[201~` : typed
}

function send(session: CommandSession, { input, keys = [], eof = false }: GoOn): void {
  const { transport } = session
  const strange = session.plain ? keys.find((key) => key !== 'ctrl-c' && key !== 'ctrl-d') : undefined
  if (strange) {
    throw problem('VT_INPUT_INVALID', {
      problem: `'keys' has ${strange}; without a terminal only ctrl-c and ctrl-d mean something.`,
    })
  }
  const needsInput = input !== undefined || eof || keys.some((key) => key !== 'ctrl-c')
  if (!session.running || (needsInput && !transport.writable())) throw closed(session)
  if (input) transport.write(Buffer.from(input))
  for (const key of keys) {
    if (!session.plain) transport.write(Buffer.from(sequenceOf(key)))
    else if (key === 'ctrl-c') signalGroup(transport.pid, 'SIGINT')
    else transport.end()
  }
  if (eof) transport.end()
}

function closed({ facts, exit, running }: CommandSession): Error {
  const next = nextCall('inspect', { session_id: facts.id })
  const what = running ? 'has no open standard input' : 'has ended'
  return createSlotError('VT_EXEC_CLOSED', `The session '${facts.id}' ${what}.`, {
    details: { exit_code: exit?.exit_code ?? null },
    next,
  })
}
