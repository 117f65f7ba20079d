import { signalGroup } from '../../../core/system/index.js'
import { problem, type Call, type Context, type Result } from '../../../core/index.js'
import { nextCall, createSlotError } from '../../lib/base/index.js'
import { deliver, reportProgress } from './delivery.js'
import { toKeySequence } from './keys.js'
import { openScreen } from './screen.js'
import type { CommandSession } from './session.js'
import { getSessions } from './sessions.js'
import type { Size } from './transport.js'

/** The input of the actions that continue a session. */
export interface ResumeInput extends Partial<Size> {
  session_id: string
  input?: string
  /** Set when the input comes from a clipboard, so that the program may treat it as one. */
  paste?: boolean
  keys?: string[]
  eof?: boolean
  yield_time_ms?: number
  cursor?: number
  max_output_tokens?: number
}

const WAIT_MS = { write: 250, poll: 1000 }

const hasInput = ({ input, keys, eof }: ResumeInput): boolean =>
  (input ?? '') !== '' || (keys?.length ?? 0) > 0 || eof === true

/** Describes the input in the list of commands that can be reverted. */
const describeInput = ({ session_id, input = '', keys = [] }: ResumeInput): string =>
  `${[input.trim(), ...keys].filter((part) => part !== '').join(' ')} (input of ${session_id})`

/** Keeps the files before a line of input. */
async function noteInput({ running, facts }: CommandSession, input: ResumeInput): Promise<void> {
  if (running) await facts.checkpoint?.advance(describeInput(input))
}

/** Lets the answer have what a running program has changed. */
async function noteChanges({ running, facts }: CommandSession): Promise<void> {
  if (running) await facts.checkpoint?.peek()
}

/** Sends the input, waits for output and delivers it. Errors: VT_EXEC_SESSION, VT_EXEC_CLOSED, VT_INPUT_INVALID. */
export async function resume({ input }: Call<ResumeInput>, context: Context): Promise<Result> {
  const session = getSessions(context).find(input.session_id)
  const { rows, cols, cursor } = input
  if (rows !== undefined || cols !== undefined) session.resize({ ...(rows && { rows }), ...(cols && { cols }) })
  const sends = hasInput(input)
  if (sends) {
    await noteInput(session, input)
    sendInput(session, { ...input, ...(input.paste && { input: await toPasteText(session, input.input ?? '') }) })
  }

  const late = cursor !== undefined && session.hasNewerOutput(cursor)
  const ms = late ? 0 : (input.yield_time_ms ?? (sends ? WAIT_MS.write : WAIT_MS.poll))
  const stop = reportProgress(session, context)
  try {
    if (ms > 0) await session.wait(ms, context.signal, { forOutput: true })
  } finally {
    stop()
  }
  await noteChanges(session)
  const max_output_tokens = input.max_output_tokens ?? context.settings.exec.max_output_tokens
  return deliver(session, { max_output_tokens, ...(cursor !== undefined && { cursor }) })
}

/**
 * Converts pasted text to the input of a terminal: bracketed if the program asked for that. The text cannot close the
 * brackets.
 */
async function toPasteText(session: CommandSession, text: string): Promise<string> {
  if (session.plain)
    throw problem('VT_INPUT_INVALID', { problem: `'paste' needs a terminal; '${session.facts.id}' runs on pipes.` })
  const typed = text.replace(/\r?\n/g, '\r')
  return (await (await openScreen(session)).pastes()) ? `\x1b[200~${typed.replaceAll('\x1b', '')}\x1b[201~` : typed
}

function sendInput(session: CommandSession, { input, keys = [], eof = false }: ResumeInput): void {
  const { transport } = session
  const strange = session.plain ? keys.find((key) => key !== 'ctrl-c' && key !== 'ctrl-d') : undefined
  if (strange) {
    throw problem('VT_INPUT_INVALID', {
      problem: `'keys' has ${strange}; without a terminal, use only ctrl-c and ctrl-d.`,
    })
  }
  const needsInput = input !== undefined || eof || keys.some((key) => key !== 'ctrl-c')
  if (!session.running || (needsInput && !transport.writable())) throw createClosedError(session)
  if (input) transport.write(Buffer.from(input))
  for (const key of keys) {
    if (!session.plain) transport.write(Buffer.from(toKeySequence(key)))
    else if (key === 'ctrl-c') signalGroup(transport.pid, 'SIGINT')
    else transport.end()
  }
  if (eof) transport.end()
  session.input.noteExchange()
}

function createClosedError({ facts, exit, running }: CommandSession): Error {
  const next = nextCall('inspect', { session_id: facts.id })
  const what = running ? 'has no open standard input' : 'has ended'
  return createSlotError('VT_EXEC_CLOSED', `The session '${facts.id}' ${what}.`, {
    details: { exit_code: exit?.exit_code ?? null },
    next,
  })
}
