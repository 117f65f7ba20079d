import { truncateLine } from '../../../core/text/index.js'
import { version } from '../../../core/system/index.js'
import { openWorkspace, type Kernel } from '../../../core/index.js'
import { formatChildren, printFailure, readDialogue } from '../../agent/cli/index.js'
import { collectOutput, formatColumns, toOneLine, say } from '../../lib/terminal/index.js'
import type { Block, SlashCommand } from '../../tui/index.js'
import { callAsUser } from './call_as_user.js'
import type { ChatSession } from './chat_session.js'

const showPage = (chat: ChatSession, title: string, body: Block): void =>
  chat.handle.send({ type: 'overlay', overlay: { kind: 'pager', id: 'view', title, body: [body] } })

/** Runs a command of the command line and shows its output in a pager. */
export async function showVerb(
  chat: ChatSession,
  verb: string,
  words: string[],
  { kernel = chat.kernel, ...how }: { kernel?: Kernel; signal?: AbortSignal; quiet?: true } = {},
): Promise<void> {
  const { io, text } = collectOutput({ ...chat.io, ...how })
  const main = await kernel.inspection.loadSurface(verb)
  await main?.(kernel, words, io)
  showPage(
    chat,
    `vtcode ${[verb, ...words.filter((word) => !word.startsWith('--') && word !== chat.agent.model)].join(' ')}`,
    { kind: 'output', text: text() || 'No output.' },
  )
}

/** `/diff`: runs git as a normal call, so policies and approvals apply. */
export async function showDiff(chat: ChatSession, _rest: string, signal: AbortSignal): Promise<void> {
  const { io, questions } = chat
  const command = 'git diff HEAD && git status --short'
  const result = await callAsUser(
    chat,
    'unified_exec',
    { action: 'run', command, yield_time_ms: 0 },
    { approve: questions.approve, signal },
  )
  if (!result.ok) return say(io, 'error', `${result.error.message} ${result.error.hint}`.trim())
  const {
    stdout = '',
    stderr = '',
    exit_code,
  } = result.output as { stdout?: string; stderr?: string; exit_code?: number }
  if (exit_code !== 0)
    return say(io, 'error', toOneLine(stderr.trim().split('\n')[0] ?? '') || `git failed with exit ${exit_code}.`)
  if (stdout.trim() === '') return say(io, 'info', 'No changes since the last commit.')
  showPage(chat, command, { kind: 'diff', text: stdout })
}

/** `/review`: reviews with the model of the chat, in its own session and in mode plan. */
export async function reviewChange(chat: ChatSession, rest: string, signal: AbortSignal): Promise<void> {
  const kernel = await chat.kernel.inspection.openSibling(chat.kernel.workspace, { mode: 'plan' })
  try {
    await showVerb(chat, 'review', ['--model', chat.agent.model, ...rest.split(/\s+/).filter(Boolean)], {
      kernel,
      signal,
      quiet: true,
    })
  } finally {
    await kernel.close()
  }
}

/** `/inspect`: opens the inspector until the chat ends. */
export async function openInspector(chat: ChatSession): Promise<void> {
  if (chat.inspectorOpen) return say(chat.io, 'info', 'The inspector is already open; its address is above.')
  chat.inspectorOpen = true
  const main = await chat.kernel.inspection.loadSurface('inspect')
  const signal = AbortSignal.any([chat.io.signal, chat.ended.signal])
  void Promise.resolve(
    main?.(chat.kernel, chat.hasTurns ? [chat.agent.session_id] : [], { ...chat.io, signal }),
  ).finally(() => (chat.inspectorOpen = false))
}

/** `/agents`: shows agents that worked on parts, or the defined ones if none did; with an id, the transcript of one. */
export async function showAgents(chat: ChatSession, id: string): Promise<void> {
  const { agent, kernel, io } = chat
  if (id === '' && agent.children.length === 0) return showVerb(chat, 'agents', ['list', '--text'])
  if (id === '') return showPage(chat, 'agents', { kind: 'output', text: formatChildren(agent) })
  const one = agent.children.find((child) => child.id === id)
  if (!one)
    return say(
      io,
      'error',
      `Unknown agent '${toOneLine(id).slice(0, 64)}'. ` +
        `Known: ${agent.children.map((child) => child.id).join(', ') || 'none'}.`,
    )
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const words = await readDialogue(workspace, one.session_id)
    chat.handle.send({
      type: 'overlay',
      overlay: {
        kind: 'pager',
        id: 'view',
        title: `${one.agent} ${id}`,
        body: words.map(({ by, text }) => ({ kind: by === 'person' ? 'user' : 'markdown', text })),
      },
    })
  } catch (error) {
    printFailure(kernel, error, io)
  } finally {
    workspace.close()
  }
}

/** Formats the rows of `/status`. */
export function formatStatus(chat: ChatSession): string {
  const { agent, kernel, usage, contextWindow } = chat
  const rows = [
    ['model', agent.model],
    ['mode', agent.mode],
    ['session', agent.session_id],
    ['workspace', toOneLine(kernel.workspace)],
    ['branch', chat.branch() ?? 'none'],
    ['context', contextWindow > 0 ? `${usage.context} of ${contextWindow} tokens` : `${usage.context} tokens`],
    ['vtcode', version],
  ]
  return formatColumns([...rows, ...toCostRows(chat)])
}

/** Formats the rows of `/cost`, counted since this chat opened the session. */
export const formatCost = (chat: ChatSession): string => formatColumns(toCostRows(chat))

function toCostRows({ usage: { input, cached, output, cost, requests, prefix } }: ChatSession): string[][] {
  const share = prefix.bytes === 0 ? 0 : (100 * prefix.common) / prefix.bytes
  const breaks = [...prefix.breaks].map(
    ([why, { times, usd }]) => `${why} ${times}×${usd > 0 ? ` (${usd.toFixed(4)} USD)` : ''}`,
  )
  return [
    ['requests', String(requests)],
    ['input', `${input} tokens, ${cached} of them from the cache`],
    ['repeated', `${share.toFixed(1)} % of the bytes${breaks.length > 0 ? `; broken by ${breaks.join(', ')}` : ''}`],
    ['output', `${output} tokens`],
    ['cost', cost === null ? 'unknown: the model has no price' : `${cost.toFixed(4)} USD`],
  ]
}

const KEY_HELP: string[][] = [
  ['Enter, Ctrl-Enter', 'send, or queue during a turn; stop the turn and continue with the text'],
  ['Esc, Ctrl-C', 'interrupt; Ctrl-C empties the editor first, and twice ends the chat'],
  ['Shift-Enter, Ctrl-G', 'new line; your editor'],
  ['Shift-Tab, Ctrl-O, Ctrl-R', 'next mode; whole last output; earlier messages'],
  ['Tab', 'complete; move the keys to a question'],
  ['!command, @path', 'run a command; name a file'],
]

/** `/help`: shows commands, keys, or the commands of others, a page each. */
export function showHelp(
  chat: ChatSession,
  page: string,
  ours: readonly SlashCommand[],
  all: readonly SlashCommand[],
): void {
  const format = (commands: readonly SlashCommand[]) =>
    commands.map(({ name, description }) => [toOneLine(`/${name}`), truncateLine(toOneLine(description), 60)])
  const others = all.filter((one) => !ours.includes(one))
  const pages: Record<string, [title: string, rows: string[][]]> = {
    '': ['Commands: /help keys, /help skills show more', format(ours)],
    keys: ['Keys', KEY_HELP],
    skills: ['Commands of skills, plugins and servers', format(others)],
  }
  const [title, rows] = (Object.hasOwn(pages, page) ? pages[page] : undefined) ?? pages['']!
  showPage(chat, title, { kind: 'text', text: formatColumns(rows) })
}
