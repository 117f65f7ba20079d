import type { Kernel } from '../../../core/index.js'
import type { SlashCommand } from '../../tui/index.js'
import type { Sitting } from './sitting.js'

interface Command extends SlashCommand {
  run(face: Sitting, rest: string, signal: AbortSignal): Promise<void> | void
}

/** The commands that need the screen; those of every chat, of plugins and of servers come beside them. */
const own: readonly Command[] = [
]

/** Those that the chat has in any case. */
const everywhere: readonly SlashCommand[] = [
  { name: 'help', description: 'Shows what there is' },
  { name: 'mode', description: 'Says the mode, or changes it', arguments: '<mode>', choices: ['plan', 'ask', 'auto', 'full-auto'] },
  { name: 'plan', description: 'Asks for a plan before anything is changed', arguments: '[what]' },
  { name: 'tasks', description: 'Shows the steps of the task' },
  { name: 'compact', description: 'Shortens the conversation', arguments: '[what matters]' },
  { name: 'goal', description: 'Goes on until a goal is met', arguments: '<text>' },
  { name: 'image', description: 'Gives an image with the next message', arguments: '<file>' },
  { name: 'steer', description: 'Ends the turn and continues with this', arguments: '<text>' },
  { name: 'quit', description: 'Ends the chat' },
]

/** What the menu offers: our commands, and what plugins, skills and servers bring. */
export function menuOf(kernel: Kernel): SlashCommand[] {
  const brought = kernel.offers('prompt').map(({ name, description, arguments: texts = [] }) => ({ name, description, ...(texts.length > 0 && { arguments: texts.map((one) => `<${one.name}>`).join(' ') }) }))
  const ours = [...own, ...everywhere]
  return [...ours, ...brought.filter(({ name }) => !ours.some((one) => one.name === name))].sort((a, b) => (a.name < b.name ? -1 : 1))
}

/** A message: a command of the screen, or what every chat does with it. */
export async function runOwn(face: Sitting, text: string, signal: AbortSignal): Promise<void> {
  const [, word, rest = ''] = /^\/([\w-]+)\s*([^]*)$/.exec(text) ?? []
  const command = own.find(({ name }) => name === word)
  if (command) await command.run(face, rest.trim(), signal)
  else await face.talk.said(text, signal)
  if (face.talk.over) face.over = true
}
