import { PassThrough, Writable } from 'node:stream'
import { version } from '../../../core/system/index.js'
import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import { childrenText, printFailure, readDialogue } from '../../agent/cli/index.js'
import { columns, oneLine, say } from '../../lib/terminal/index.js'
import type { Block, SlashCommand } from '../../tui/index.js'
import { personsCall } from './persons_calls.js'
import type { Sitting } from './sitting.js'

const page = (face: Sitting, title: string, body: Block): void =>
  face.handle.send({ type: 'overlay', overlay: { kind: 'pager', id: 'view', title, body: [body] } })

/** What a verb of the command line says, to page through; by another kernel, or until a signal. */
export async function showVerb(
  face: Sitting,
  verb: string,
  words: string[],
  { kernel = face.kernel, ...how }: { kernel?: Kernel; signal?: AbortSignal; quiet?: true } = {},
): Promise<void> {
  let text = ''
  const stream = Object.assign(
    new Writable({ decodeStrings: false, write: (chunk, _encoding, done) => ((text += String(chunk)), done()) }),
    { isTTY: true },
  )
  // Nobody answers questions there.
  const { alone: _, interrupts: __, ...rest } = face.io
  const io: Io = {
    ...rest,
    ...how,
    stdin: new PassThrough(),
    stdout: stream,
    stderr: stream,
    env: { ...face.io.env, NO_COLOR: '1' },
  }
  const main = await kernel.inspection.loadSurface(verb)
  await main?.(kernel, words, io)
  page(
    face,
    `vtcode ${[verb, ...words.filter((word) => !word.startsWith('--') && word !== face.agent.model)].join(' ')}`,
    { kind: 'output', text: text === '' ? 'There is nothing to show.' : text },
  )
}

/** `/diff`: by git, as a call like any other, so that rules and questions hold for it. */
export async function showChanges(face: Sitting, _rest: string, signal: AbortSignal): Promise<void> {
  const { io, questions } = face
  const command = 'git diff HEAD && git status --short'
  const result = await personsCall(
    face,
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
    return say(io, 'error', oneLine(stderr.trim().split('\n')[0] ?? '') || `git ended by exit ${exit_code}.`)
  if (stdout.trim() === '') return say(io, 'info', 'Nothing is changed since the last commit.')
  page(face, command, { kind: 'diff', text: stdout })
}

/** `/review`: by the model of the chat, in a session of its own and in the mode that changes nothing. */
export async function reviewChange(face: Sitting, rest: string, signal: AbortSignal): Promise<void> {
  const kernel = await face.kernel.inspection.openSibling(face.kernel.workspace, { mode: 'plan' })
  try {
    await showVerb(face, 'review', ['--model', face.agent.model, ...rest.split(/\s+/).filter(Boolean)], {
      kernel,
      signal,
      quiet: true,
    })
  } finally {
    await kernel.close()
  }
}

/** `/inspect`: the page is there until the chat ends. */
export async function openInspector(face: Sitting): Promise<void> {
  if (face.inspected) return say(face.io, 'info', 'The inspector is open already; its address stands above.')
  face.inspected = true
  const main = await face.kernel.inspection.loadSurface('inspect')
  const signal = AbortSignal.any([face.io.signal, face.ended.signal])
  void Promise.resolve(main?.(face.kernel, face.begun ? [face.agent.session_id] : [], { ...face.io, signal })).finally(
    () => (face.inspected = false),
  )
}

/** `/agents`: those that do or did parts of the work, and before there is one those that may get some; with an id what was said to one of them and by it, as far as it is in its journal. */
export async function showAgents(face: Sitting, id: string): Promise<void> {
  const { agent, kernel, io } = face
  if (id === '' && agent.children.length === 0) return showVerb(face, 'agents', ['list', '--text'])
  if (id === '') return page(face, 'agents', { kind: 'output', text: childrenText(agent) })
  const one = agent.children.find((child) => child.id === id)
  if (!one)
    return say(
      io,
      'error',
      `There is no agent ${oneLine(id).slice(0, 64)}; known: ${agent.children.map((child) => child.id).join(', ') || 'none'}.`,
    )
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const words = await readDialogue(workspace, one.session_id)
    face.handle.send({
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

/** `/status`. */
export function statusText(face: Sitting): string {
  const { agent, kernel, usage, window } = face
  const rows = [
    ['model', agent.model],
    ['mode', agent.mode],
    ['session', agent.session_id],
    ['workspace', oneLine(kernel.workspace)],
    ['branch', face.branch() ?? 'none'],
    ['context', window > 0 ? `${usage.context} of ${window} tokens` : `${usage.context} tokens`],
    ['vtcode', version],
  ]
  return columns([...rows, ...costRows(face)])
}

/** `/cost`: since this chat went on with the session. */
export const costText = (face: Sitting): string => columns(costRows(face))

function costRows({ usage: { input, cached, output, cost, requests } }: Sitting): string[][] {
  return [
    ['requests', String(requests)],
    ['input', `${input} tokens, ${cached} of them from the cache`],
    ['output', `${output} tokens`],
    ['cost', cost === null ? 'not known: the model has no price' : `${cost.toFixed(4)} USD`],
  ]
}

const keys: string[][] = [
  ['Enter, Ctrl-Enter', 'sends, or lets wait while something is under way; ends that and continues with the text'],
  ['Esc, Ctrl-C', 'interrupts; Ctrl-C empties the editor first, and twice ends the chat'],
  ['Shift-Enter, Ctrl-G', 'a new line; your editor'],
  ['Shift-Tab, Ctrl-O, Ctrl-R', 'the next mode; all of the last output; what you said before'],
  ['Tab', 'completes; gives a question the keys'],
  ['!command, @path', 'runs a command; names a file'],
]

/** `/help`. */
export function showHelp(face: Sitting, commands: readonly SlashCommand[]): void {
  const rows = commands.map(({ name, description, arguments: behind = '' }) => [
    oneLine(`/${name} ${behind}`.trim()),
    oneLine(description),
  ])
  page(face, 'What there is', { kind: 'text', text: columns([...keys, ['', ''], ...rows]) })
}

/** `/mcp`: the servers of the settings, and the tools and prompts of each. */
export async function serversText(kernel: Kernel): Promise<string> {
  await kernel.inspection.loadDeferred()
  const servers = Object.keys(kernel.settings.mcp.servers)
  const rows = servers.map((name) => {
    const own = kernel.inspection.contributions().filter(({ id }) => id.split(/[/:]|__/).includes(name))
    const brought = own.filter(({ slot, state }) => slot !== undefined && state === 'active')
    const prompts = brought.filter(({ slot }) => slot!.startsWith('prompt/'))
    const tools = brought.filter((one) => !prompts.includes(one))
    const faulty = own.find(({ reason }) => reason !== undefined)
    const names = [...tools.map(({ slot }) => slot!), ...prompts.map(({ slot }) => slot!.replace('prompt/', '/'))]
    return [
      oneLine(name),
      counted(tools.length, 'tool'),
      counted(prompts.length, 'prompt'),
      oneLine(faulty?.reason ?? names.join(', ')).slice(0, 400),
    ]
  })
  return rows.length === 0
    ? 'There are no servers; `mcp.servers` in the settings names some: see docs/settings.md.'
    : columns(rows)
}

const counted = (count: number, what: string): string => `${count} ${what}${count === 1 ? '' : 's'}`
