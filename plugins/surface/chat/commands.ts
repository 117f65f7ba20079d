import { nearest } from '../../../core/text/index.js'
import { modes } from '../../../core/config/index.js'
import type { Kernel } from '../../../core/index.js'
import { personsPrompts } from '../../lib/skills/index.js'
import { say } from '../../lib/terminal/index.js'
import type { SlashCommand } from '../../tui/index.js'
import { beginAnew, switchModel, forkAt, goBack, resumeOther } from './going_on.js'
import { keepTheme, themeNames } from './preferences.js'
import { runShell } from './shell.js'
import type { Sitting } from './sitting.js'
import {
  costText,
  openInspector,
  reviewChange,
  serversText,
  showAgents,
  showChanges,
  showHelp,
  showVerb,
  statusText,
} from './views.js'

interface Command extends SlashCommand {
  /** It changes nothing of the conversation, so that it need not wait for the end of a turn. */
  anytime?: true
  run(face: Sitting, rest: string, signal: AbortSignal): Promise<void> | void
}

const note = (face: Sitting, text: string): void => face.handle.send({ type: 'commit', block: { kind: 'text', text } })

/** The commands of the screen; those of every chat, of plugins, skills and servers come beside them. */
const own: readonly Command[] = [
  {
    name: 'help',
    description: 'Shows keys and commands',
    anytime: true,
    run: (face) => showHelp(face, menuOf(face.kernel)),
  },
  { name: 'model', description: 'Continues with another model', arguments: '[provider/model]', run: switchModel },
  {
    name: 'resume',
    description: 'Continues with another session of this workspace',
    arguments: '[session]',
    run: resumeOther,
  },
  { name: 'rewind', description: 'Goes back to before a turn: files, conversation or both', run: goBack },
  { name: 'fork', description: 'Begins a new session with the conversation up to a turn', run: forkAt },
  { name: 'clear', description: 'Begins a new session', run: beginAnew },
  {
    name: 'agents',
    description: 'Shows the agents that do parts of the work, or may, or what one of them said',
    arguments: '[id]',
    anytime: true,
    run: showAgents,
  },
  {
    name: 'permissions',
    description: 'Shows the rules, and who says each',
    anytime: true,
    run: (face) => showVerb(face, 'policy', ['list']),
  },
  {
    name: 'tools',
    description: 'Shows the tools',
    arguments: '[tool]',
    anytime: true,
    run: (face, rest) => showVerb(face, 'tools', ['--text', ...rest.split(/\s+/).filter(Boolean)]),
  },
  {
    name: 'skills',
    description: 'Shows the skills',
    anytime: true,
    run: (face) => showVerb(face, 'skills', ['list', '--text']),
  },
  {
    name: 'schedule',
    description: 'Shows the tasks that begin by themselves',
    anytime: true,
    run: (face) => showVerb(face, 'schedule', ['list', '--text']),
  },
  {
    name: 'trace',
    description: 'Shows what happened in this session',
    anytime: true,
    run: (face) => showVerb(face, 'trace', [face.agent.session_id, '--format', 'text']),
  },
  {
    name: 'inspect',
    description: 'Opens a page on this machine that shows what happens, until the chat ends',
    anytime: true,
    run: openInspector,
  },
  {
    name: 'review',
    description: 'Looks for faults in what is changed; changes nothing',
    arguments: '[--staged | --base <ref> | --commit <sha>]',
    choices: ['--staged'],
    run: reviewChange,
  },
  {
    name: 'mcp',
    description: 'Shows the servers, and what they bring',
    anytime: true,
    run: async (face) => note(face, await serversText(face.kernel)),
  },
  { name: 'diff', description: 'Shows what is changed since the last commit', anytime: true, run: showChanges },
  {
    name: 'status',
    description: 'Shows model, mode, session, context and cost',
    anytime: true,
    run: (face) => note(face, statusText(face)),
  },
  {
    name: 'cost',
    description: 'Shows tokens and cost of this session',
    anytime: true,
    run: (face) => note(face, costText(face)),
  },
  { name: 'copy', description: 'Puts the last answer on the clipboard', anytime: true, run: copyAnswer },
  {
    name: 'theme',
    description: 'Chooses the colors, also for chats to come',
    arguments: '<theme>',
    choices: themeNames,
    anytime: true,
    run: keepTheme,
  },
]

/** Those that the chat has in any case. */
const everywhere: readonly SlashCommand[] = [
  { name: 'mode', description: 'Says the mode, or changes it', arguments: '<mode>', choices: modes },
  { name: 'plan', description: 'Asks for a plan before anything is changed', arguments: '[what]' },
  { name: 'tasks', description: 'Shows the steps of the task' },
  { name: 'compact', description: 'Shortens the conversation', arguments: '[what matters]' },
  { name: 'goal', description: 'Goes on until a goal is met', arguments: '<text>' },
  {
    name: 'loop',
    description: 'Begins something again and again',
    arguments: '[10m] <prompt>',
    choices: ['list', 'cancel all'],
  },
  { name: 'remind', description: 'Begins something once', arguments: '<18:30 | +45m> <text>' },
  { name: 'image', description: 'Gives an image with the next message', arguments: '<file>' },
  { name: 'steer', description: 'Ends the turn and continues with this', arguments: '<text>' },
  { name: 'quit', description: 'Ends the chat' },
  { name: 'exit', description: 'Ends the chat' },
]

/** What the menu offers: our commands, and what plugins, skills and servers bring, with its arguments. */
export function menuOf(kernel: Kernel): SlashCommand[] {
  const brought = personsPrompts(kernel).map(({ offer: { name, description, arguments: texts = [] }, skill }) => {
    const behind = skill?.argument_hint ?? texts.map((one) => `<${one.name}>`).join(' ')
    return { name, description, ...(behind !== '' && { arguments: behind }) }
  })
  const ours = [...own, ...everywhere]
  return [...ours, ...brought.filter(({ name }) => !ours.some((one) => one.name === name))].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

const commandIn = (text: string): { word: string; rest: string } | undefined => {
  const [, word, rest = ''] = /^\/([\p{L}\p{N}_-]+)(?:\s+([^]*))?$/u.exec(text) ?? []
  return word === undefined ? undefined : { word, rest: rest.trim() }
}

/** Runs a message while nothing is under way: a command of the screen, one for the shell, or what every chat does with it. Returns whether it succeeded. */
export async function runOwn(face: Sitting, text: string, signal: AbortSignal): Promise<boolean> {
  let succeeded = true
  const command = commandIn(text)
  const found = own.find(({ name }) => name === command?.word)
  if (text.startsWith('!')) await runShell(face, text.slice(1).trim(), signal)
  else if (found) await found.run(face, command!.rest, signal)
  else if (command && !(await isKnown(face.kernel, command.word))) refuse(face, command.word)
  else succeeded = await face.talk.said(text, signal)
  if (face.talk.over) face.over = true
  return succeeded && !signal.aborted
}

/** A command while a turn is under way. */
export async function runMeanwhile(face: Sitting, text: string): Promise<void> {
  const command = commandIn(text)
  const found = own.find(({ name }) => name === command?.word)
  if (found?.anytime) await found.run(face, command!.rest, face.io.signal)
  else if (found)
    say(face.io, 'error', `/${found.name} waits for nothing: end the turn with Esc, or say it when the turn is over.`)
  else if (command && !(await isKnown(face.kernel, command.word))) refuse(face, command.word)
  else await face.talk.meanwhile(text, () => face.stop())
}

async function isKnown(kernel: Kernel, word: string): Promise<boolean> {
  const named = (): boolean => menuOf(kernel).some(({ name }) => name === word)
  if (!named()) await kernel.inspection.loadDeferred()
  return named()
}

/** What looks like a command and is none goes to no model. */
function refuse({ io, kernel }: Sitting, word: string): void {
  const like = nearest(
    word,
    menuOf(kernel).map(({ name }) => name),
  )
  say(
    io,
    'error',
    `Unknown command /${word}${like === undefined ? '' : ` (did you mean /${like}?)`}; / alone shows all. Nothing was sent to the model.`,
  )
}

function copyAnswer(face: Sitting): void {
  const { answer } = face.transcript
  if (answer === '') return say(face.io, 'error', 'There is no answer yet.')
  face.handle.send({ type: 'copy', text: answer })
  say(face.io, 'info', `The last answer, ${answer.length} characters, was sent to the clipboard of the terminal.`)
}
