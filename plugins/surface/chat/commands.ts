import { findNearest } from '../../../core/text/index.js'
import { MODES } from '../../../core/config/index.js'
import type { Kernel } from '../../../core/index.js'
import { listPrompts } from '../../lib/skills/index.js'
import { describeServers } from '../../lib/own_files/index.js'
import { say } from '../../lib/terminal/index.js'
import type { SlashCommand } from '../../tui/index.js'
import { startNewSession, switchModel, forkSession, rewindSession, resumeSession } from './session_commands.js'
import { changeTheme, themeNames } from './theme.js'
import { runShellCommand } from './shell.js'
import type { ChatSession } from './chat_session.js'
import {
  formatCost,
  openInspector,
  reviewChange,
  showAgents,
  showDiff,
  showHelp,
  showVerb,
  formatStatus,
} from './views.js'

interface Command extends SlashCommand {
  /** Runs during a turn too, because it does not change the conversation. */
  anytime?: true
  run(chat: ChatSession, rest: string, signal: AbortSignal): Promise<void> | void
}

const showNote = (chat: ChatSession, text: string): void =>
  chat.handle.send({ type: 'commit', block: { kind: 'text', text } })

/** Commands of the screen. */
const screenCommands: readonly Command[] = [
  {
    name: 'help',
    description: 'Show commands, keys, or those of skills',
    arguments: '[keys | skills]',
    choices: ['keys', 'skills'],
    anytime: true,
    run: (chat, rest) => showHelp(chat, rest, ownCommands(), listSlashCommands(chat.kernel)),
  },
  { name: 'model', description: 'Continue with another model', arguments: '[provider/model]', run: switchModel },
  {
    name: 'resume',
    description: 'Continue another session of this workspace',
    arguments: '[session]',
    run: resumeSession,
  },
  { name: 'rewind', description: 'Go back to before a turn: files, conversation or both', run: rewindSession },
  { name: 'fork', description: 'Start a new session with the conversation before a turn', run: forkSession },
  { name: 'clear', description: 'Start a new session', run: startNewSession },
  {
    name: 'agents',
    description: 'Show the agents that work on parts, or the transcript of one',
    arguments: '[id]',
    anytime: true,
    run: showAgents,
  },
  {
    name: 'permissions',
    description: 'Show the rules with their sources',
    anytime: true,
    run: (chat) => showVerb(chat, 'policy', ['list']),
  },
  {
    name: 'tools',
    description: 'Show the tools',
    arguments: '[tool]',
    anytime: true,
    run: (chat, rest) => showVerb(chat, 'tools', ['--text', ...rest.split(/\s+/).filter(Boolean)]),
  },
  {
    name: 'skills',
    description: 'Show the skills',
    anytime: true,
    run: (chat) => showVerb(chat, 'skills', ['list', '--text']),
  },
  {
    name: 'schedule',
    description: 'Show the scheduled tasks',
    anytime: true,
    run: (chat) => showVerb(chat, 'schedule', ['list', '--text']),
  },
  {
    name: 'trace',
    description: 'Show the events of this session',
    anytime: true,
    run: (chat) => showVerb(chat, 'trace', [chat.agent.session_id, '--format', 'text']),
  },
  {
    name: 'inspect',
    description: 'Open a live page on this machine until the chat ends',
    anytime: true,
    run: openInspector,
  },
  {
    name: 'review',
    description: 'Look for faults in the changes; changes nothing',
    arguments: '[--staged | --base <ref> | --commit <sha>]',
    choices: ['--staged'],
    run: reviewChange,
  },
  {
    name: 'mcp',
    description: 'Show the MCP servers with their tools and prompts',
    anytime: true,
    run: async (chat) => showNote(chat, await describeServers(chat.kernel)),
  },
  {
    name: 'undo',
    description: 'Undo the last change of files',
    arguments: '[number | --list]',
    run: (chat, rest) => showVerb(chat, 'undo', rest.split(/\s+/).filter(Boolean)),
  },
  { name: 'diff', description: 'Show the changes since the last commit', anytime: true, run: showDiff },
  {
    name: 'status',
    description: 'Show model, mode, session, context and cost',
    anytime: true,
    run: (chat) => showNote(chat, formatStatus(chat)),
  },
  {
    name: 'cost',
    description: 'Show tokens and cost of this session',
    anytime: true,
    run: (chat) => showNote(chat, formatCost(chat)),
  },
  { name: 'copy', description: 'Copy the last answer to the clipboard', anytime: true, run: copyAnswer },
  {
    name: 'theme',
    description: 'Choose the colors for this chat and later ones',
    arguments: '<theme>',
    choices: themeNames,
    anytime: true,
    run: changeTheme,
  },
]

/** Commands of every chat, with or without a screen. */
const commonCommands: readonly SlashCommand[] = [
  { name: 'mode', description: 'Show or change the mode', arguments: '<mode>', choices: MODES },
  { name: 'plan', description: 'Ask for a plan before any change', arguments: '[what]' },
  { name: 'tasks', description: 'Show the steps of the task' },
  { name: 'compact', description: 'Shorten the conversation', arguments: '[what matters]' },
  { name: 'goal', description: 'Work until a goal is met', arguments: '<text>' },
  {
    name: 'loop',
    description: 'Repeat a prompt',
    arguments: '[10m] <prompt>',
    choices: ['list', 'cancel all'],
  },
  { name: 'remind', description: 'Send a text once, at a time', arguments: '<18:30 | +45m> <text>' },
  { name: 'image', description: 'Add an image to the next message', arguments: '<file>' },
  { name: 'steer', description: 'Stop the turn and continue with this text', arguments: '<text>' },
  { name: 'quit', description: 'End the chat' },
  { name: 'exit', description: 'End the chat' },
]

const ownCommands = (): SlashCommand[] =>
  [...screenCommands, ...commonCommands].sort((a, b) => (a.name < b.name ? -1 : 1))

/** Lists commands for the menu: our own, then those of plugins, skills and servers. */
export function listSlashCommands(kernel: Kernel): SlashCommand[] {
  const provided = listPrompts(kernel).map(({ offer: { name, description, arguments: texts = [] }, skill }) => {
    const args = skill?.argument_hint ?? texts.map((one) => `<${one.name}>`).join(' ')
    return { name, description, ...(args !== '' && { arguments: args }) }
  })
  const ours = ownCommands()
  return [...ours, ...provided.filter(({ name }) => !ours.some((one) => one.name === name))].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

const parseSlashCommand = (text: string): { word: string; rest: string } | undefined => {
  const [, word, rest = ''] = /^\/([\p{L}\p{N}_-]+)(?:\s+([^]*))?$/u.exec(text) ?? []
  return word === undefined ? undefined : { word, rest: rest.trim() }
}

/**
 * Runs a message between turns: a screen command, a shell command, or a message for the model. Returns whether it
 * succeeded.
 */
export async function runMessage(chat: ChatSession, text: string, signal: AbortSignal): Promise<boolean> {
  let succeeded = true
  const command = parseSlashCommand(text)
  const found = screenCommands.find(({ name }) => name === command?.word)
  if (text.startsWith('!')) await runShellCommand(chat, text.slice(1).trim(), signal)
  else if (found) await found.run(chat, command!.rest, signal)
  else if (command && !(await isKnown(chat.kernel, command.word))) reportUnknownCommand(chat, command.word)
  else succeeded = await chat.conversation.handleMessage(text, signal)
  if (chat.conversation.over) chat.over = true
  return succeeded && !signal.aborted
}

/** Runs a command during a turn. */
export async function runWhileBusy(chat: ChatSession, text: string): Promise<void> {
  const command = parseSlashCommand(text)
  const found = screenCommands.find(({ name }) => name === command?.word)
  if (found?.anytime) await found.run(chat, command!.rest, chat.io.signal)
  else if (found)
    say(chat.io, 'error', `/${found.name} cannot run during a turn. Stop the turn with Esc, or wait for its end.`)
  else if (command && !(await isKnown(chat.kernel, command.word))) reportUnknownCommand(chat, command.word)
  else await chat.conversation.handleWhileBusy(text, () => chat.stop())
}

async function isKnown(kernel: Kernel, word: string): Promise<boolean> {
  const isListed = (): boolean => listSlashCommands(kernel).some(({ name }) => name === word)
  if (!isListed()) await kernel.inspection.loadDeferred()
  return isListed()
}

/** Reports an unknown command; the model does not get it. */
function reportUnknownCommand({ io, kernel }: ChatSession, word: string): void {
  const like = findNearest(
    word,
    listSlashCommands(kernel).map(({ name }) => name),
  )
  say(
    io,
    'error',
    `Unknown command /${word}${like === undefined ? '' : ` (did you mean /${like}?)`}; ` +
      `type / to list all. Nothing was sent to the model.`,
  )
}

function copyAnswer(chat: ChatSession): void {
  const { answer } = chat.transcript
  if (answer === '') return say(chat.io, 'error', 'There is no answer yet.')
  chat.handle.send({ type: 'copy', text: answer })
  say(chat.io, 'info', `The last answer, ${answer.length} characters, was sent to the clipboard of the terminal.`)
}
