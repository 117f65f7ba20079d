import type { AvailableCommand } from '@agentclientprotocol/sdk'
import { openWorkspace, type Io, type Kernel } from '../../../core/index.js'
import { formatChildren, formatGoal, formatTasks, listPastTurns, parseGoal, revert } from '../../agent/cli/index.js'
import type { Agent } from '../../agent/index.js'
import { listPrompts } from '../../lib/skills/index.js'
import { collectOutput, fillPrompt, findPrompt, toOneLine } from '../../lib/terminal/index.js'
import { listModes } from './session_options.js'

/** The session that a command acts on. */
export interface CommandScene {
  readonly kernel: Kernel
  readonly agent: Agent
  readonly io: Io
  readonly signal: AbortSignal
  /** Shows a text as a message. */
  show(text: string): Promise<void>
  setMode(mode: string): Promise<void>
  /** Closes the agent, runs `between`, and opens the agent again. */
  reopen(between: () => Promise<void>): Promise<void>
}

interface Command {
  description: string
  hint?: string
  /** Returns the task that a turn runs; `undefined` if the command is done. */
  run(scene: CommandScene, rest: string): Promise<string | undefined>
}

const COMMANDS: Readonly<Record<string, Command>> = {
  compact: {
    description: 'Shorten the conversation',
    hint: 'what matters most',
    async run({ agent, signal, show }, rest) {
      const done = await agent.compact(rest || undefined, { signal })
      await show(done ? 'The conversation is shorter now.' : 'There is nothing to shorten.')
      return undefined
    },
  },
  goal: {
    description: 'Work until a goal is met; without a text, show it',
    hint: 'the goal, clear, or lines that begin with verify: for commands that prove it',
    run: setGoal,
  },
  plan: {
    description: 'Plan before any change',
    hint: 'what to plan',
    async run({ setMode }, rest) {
      await setMode('plan')
      return rest || undefined
    },
  },
  mode: {
    description: 'Show or change the mode',
    hint: 'plan, ask or auto',
    async run({ kernel, agent, setMode, show }, rest) {
      const known: readonly string[] = listModes(kernel)
      if (rest !== '' && !known.includes(rest)) return display(show, `The modes are ${known.join(', ')}.`)
      if (rest !== '') await setMode(rest)
      return display(show, agent.mode)
    },
  },
  tasks: { description: 'Show the steps of the task', run: ({ agent, show }) => display(show, formatTasks(agent)) },
  agents: {
    description: 'Show the agents that work on parts',
    run: ({ agent, show }) => display(show, formatChildren(agent)),
  },
  review: {
    description: 'Look for faults in the changes; changes nothing',
    hint: '--staged | --base <ref> | --commit <sha>',
    run: reviewChange,
  },
  rewind: {
    description: 'Go back to before a turn, files and conversation; without a number, list the turns',
    hint: 'the number of the turn',
    run: rewind,
  },
}

async function display(show: CommandScene['show'], text: string): Promise<undefined> {
  await show(text)
  return undefined
}

/** Lists the commands of a session: built-in ones, skills, and prompts of plugins and servers. */
export function listAvailableCommands(kernel: Kernel): AvailableCommand[] {
  const prompts = listPrompts(kernel).filter(({ offer }) => !Object.hasOwn(COMMANDS, offer.name))
  return [
    ...Object.entries(COMMANDS).map(([name, { description, hint }]) => ({
      name,
      description,
      ...(hint !== undefined && { input: { hint } }),
    })),
    ...prompts.map(({ offer, skill }) => {
      const hint = skill?.argument_hint ?? (offer.arguments ?? []).map(({ name }) => `<${name}>`).join(' ')
      return {
        name: offer.name,
        description: toOneLine(offer.description).slice(0, 200),
        ...(hint !== '' && { input: { hint: toOneLine(hint).slice(0, 200) } }),
      }
    }),
  ]
}

/**
 * Runs the command that a prompt begins with. Returns the task that a turn runs: the prompt itself where it is no
 * command, `undefined` where nothing is left to do.
 */
export async function runSlashCommand(scene: CommandScene, text: string): Promise<string | undefined> {
  const [, word = '', rest = ''] = /^(\S*)\s*([\s\S]*)$/.exec(text)!
  if (!/^\/[\p{L}\p{N}_-]+$/u.test(word)) return text
  const name = word.slice(1)
  if (Object.hasOwn(COMMANDS, name)) return COMMANDS[name]!.run(scene, rest.trim())
  const prompt = await findPrompt(scene.kernel, word)
  if (!prompt) {
    await scene.show(
      `Unknown command ${word}. Known: ${listAvailableCommands(scene.kernel)
        .map((one) => `/${one.name}`)
        .join(', ')}. Nothing was sent to the model.`,
    )
    return undefined
  }
  const captured = collectOutput(scene.io)
  const filled = await fillPrompt(scene.kernel, prompt, rest, captured.io, scene.signal)
  if (filled === undefined) await scene.show(captured.text())
  return filled
}

async function setGoal({ agent, show }: CommandScene, rest: string): Promise<string | undefined> {
  if (rest === '') return display(show, formatGoal(agent))
  if (rest === 'clear') {
    await agent.setGoal(undefined)
    return display(show, 'The goal is cleared.')
  }
  const { text, commands } = parseGoal(rest)
  if (text === '') return display(show, 'The goal has no text. Put it before the `verify:` lines: /goal <text>.')
  await agent.setGoal(text, commands)
  return text
}

/** Reviews with the model of the session, in a session of its own and in mode plan. */
async function reviewChange({ kernel, agent, io, signal, show }: CommandScene, rest: string): Promise<undefined> {
  const own = await kernel.inspection.openSibling(kernel.workspace, { mode: 'plan' })
  const captured = collectOutput({ ...io, signal, quiet: true })
  try {
    const main = await own.inspection.loadSurface('review')
    await main?.(own, ['--model', agent.model, ...rest.split(/\s+/).filter(Boolean)], captured.io)
  } finally {
    await own.close()
  }
  return display(show, captured.text() || 'No output.')
}

async function rewind({ kernel, agent, show, reopen }: CommandScene, rest: string): Promise<undefined> {
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    const turns = await listPastTurns(workspace, agent.session_id)
    const chosen = turns.find(({ turn }) => String(turn) === rest)
    if (!chosen) {
      const rows = turns.map(({ turn, text }) => `${turn}. ${toOneLine(text.trim()).slice(0, 100)}`)
      return await display(
        show,
        rows.length === 0 ? 'This session has no turn yet.' : `/rewind <n>:\n${rows.join('\n')}`,
      )
    }
    let left: string[] = []
    await reopen(async () => {
      const how = { turn: chosen.turn, scope: 'both' as const, paths: [] }
      const { skipped, unrevertable } = await revert(workspace, agent.session_id, how, Date.now())
      left = [...skipped.map(({ path, reason }) => `${path}: ${reason}`), ...unrevertable]
    })
    const notes = left.length === 0 ? '' : `\nNot restored: ${left.map(toOneLine).join(', ')}`
    return await display(show, `Back before turn ${chosen.turn}.${notes}`)
  } finally {
    workspace.close()
  }
}
