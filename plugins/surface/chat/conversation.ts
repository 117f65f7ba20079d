import type { Io, Kernel, Mode } from '../../../core/index.js'
import {
  formatChildren,
  readImages,
  formatGoal,
  formatNotApplied,
  printNotApplied,
  printFailure,
  formatSummary,
  formatTasks,
  parseGoal,
} from '../../agent/cli/index.js'
import type { Agent, GivenImage, Task as AgentTask } from '../../agent/index.js'
import { fillPrompt, isInteractive, toOneLine, renderPromptHelp, findPrompt, say } from '../../lib/terminal/index.js'
import { runScheduleCommand } from './chat_schedule.js'

export const HELP = `/help shows this, /mode shows the mode and /mode auto changes it,
/plan [what] asks for a plan before any change, /tasks shows the steps of the task,
/agents shows the agents that work on parts of it, /compact [what matters] shortens the conversation,
/goal <text> works until the goal is met (lines that start with verify: name commands that prove it),
/goal shows it, /goal clear removes it,
/loop [10m] <prompt> repeats a prompt, /remind <18:30 | +45m> <text> sends it once; /loop list, /loop cancel <id|all>,
/image <file> adds an image to your next message, /quit ends the chat.
During an answer, your messages are queued; /steer <text> stops it and continues with the text.
Ctrl-C stops it and gives back queued messages.
`

/** Formats how to continue a session that ends. */
export const formatResumeHint = (session: string): string => `Continue with: vtcode chat --resume ${session}`

/** Handles messages and commands of a person for an agent. */
export class ChatConversation {
  /** Exit code of the last turn. */
  code = 0
  over = false
  /** Images for the next message. */
  images: GivenImage[] = []

  constructor(
    private readonly kernel: Kernel,
    private readonly agent: Agent,
    private readonly io: Io,
  ) {}

  /** Handles a message between turns. Returns whether it succeeded. */
  async handleMessage(text: string, signal: AbortSignal): Promise<boolean> {
    const { word, rest } = parseCommand(text)
    if (word === '/compact') return this.compact(rest, signal)
    if (await this.runLocalCommand(word, rest)) return true
    if (word === '/plan' && rest !== '') await this.changeMode('plan')
    const prompt = await findPrompt(this.kernel, word)
    const plain = word === '/goal' ? await this.setGoal(rest) : word === '/steer' || word === '/plan' ? rest : text
    const task = prompt ? await fillPrompt(this.kernel, prompt, rest, this.io, signal) : plain
    if (task === undefined) return prompt === undefined
    const images = this.images.splice(0)
    return this.runTurn(images.length > 0 ? { text: task, images } : task, signal)
  }

  /** Runs a turn, or due scheduled tasks without a task. Returns whether it succeeded. */
  async runTurn(task: string | AgentTask | undefined, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.agent.run(task, { signal })
    this.code = outcome.exit_code
    const { outcome_code } = outcome
    printNotApplied(formatNotApplied(outcome), this.io)
    // A person at the terminal already knows which calls they refused.
    if (outcome_code === 'success' || (outcome_code === 'escalated' && isInteractive(this.io))) return true
    this.io.stderr.write(outcome_code === 'cancelled' ? 'cancelled\n' : `${formatSummary(outcome)}\n`)
    return false
  }

  /** Handles a message during a turn. */
  async handleWhileBusy(text: string, stop: () => void): Promise<void> {
    const { word, rest } = parseCommand(text)
    if (word === '/compact' || ((word === '/goal' || word === '/plan') && rest !== ''))
      return say(this.io, 'error', `${word} cannot run during a turn. Wait for its end, or stop it with Ctrl-C.`)
    if (await this.runLocalCommand(word, rest)) return this.over ? stop() : undefined
    const prompt = await findPrompt(this.kernel, word)
    const steer = word === '/steer'
    if (steer && rest === '') return say(this.io, 'error', '/steer needs a text: /steer <text>.')
    try {
      const filled = prompt ? await fillPrompt(this.kernel, prompt, rest, this.io, this.io.signal) : text
      if (filled === undefined) return
      await (steer ? this.agent.steer(rest) : this.agent.followUp(filled))
      say(
        this.io,
        'info',
        steer ? `Turn stopped; next message: ${toOneLine(rest)}` : `Queued for the end of the turn: ${toOneLine(text)}`,
      )
    } catch (error) {
      printFailure(this.kernel, error, this.io)
    }
  }

  /** Runs a command that needs no model. Returns whether the word is one. */
  private async runLocalCommand(word: string, rest: string): Promise<boolean> {
    const { io } = this
    const run = Object.hasOwn(this.commands, word) ? this.commands[word] : undefined
    if (run) await run(rest, word)
    else if (word === '/plan' && rest === '') await this.changeMode('plan')
    else if (word === '/goal' && rest === '') io.stderr.write(formatGoal(this.agent))
    else if (await findPrompt(this.kernel, word)) return false
    else if (/^\/(?!(?:steer|goal|plan)$)\w*$/.test(word)) {
      say(io, 'error', `Unknown command ${word}; /help lists all. Nothing was sent to the model.`)
    } else return false
    return true
  }

  private readonly commands: Record<string, (rest: string, word: string) => unknown> = {
    '/quit': () => (this.over = true),
    '/exit': () => (this.over = true),
    '/help': async () => this.io.stderr.write(HELP + (await renderPromptHelp(this.kernel))),
    '/mode': (rest) => this.changeMode(rest),
    '/loop': (rest, word) => runScheduleCommand(this.kernel, this.agent, this.io, { word, rest }),
    '/remind': (rest, word) => runScheduleCommand(this.kernel, this.agent, this.io, { word, rest }),
    '/tasks': () => this.io.stderr.write(formatTasks(this.agent)),
    '/agents': () => this.io.stderr.write(formatChildren(this.agent)),
    '/image': async (path, word) => this.images.push(...((await readImages({ image: [path] }, this.io, word)) ?? [])),
  }

  /** Sets or clears the goal. Returns the text of a new goal, which becomes the task. */
  private async setGoal(argument: string): Promise<string | undefined> {
    const { agent, io } = this
    const before = agent.goal
    if (argument === 'clear') {
      await agent.setGoal(undefined)
      io.stderr.write(before === undefined ? 'There is no goal.\n' : 'The goal is cleared.\n')
      return undefined
    }
    const { text, commands } = parseGoal(argument)
    if (text === '') {
      say(io, 'error', 'The goal has no text. Put it before the `verify:` lines: /goal <text>.')
      return undefined
    }
    try {
      await agent.setGoal(text, commands)
    } catch (error) {
      printFailure(this.kernel, error, io)
      return undefined
    }
    if (before !== undefined) io.stderr.write(`Replaced the goal: ${toOneLine(before)}\n`)
    return text
  }

  private async changeMode(asked: string): Promise<void> {
    try {
      const mode = asked === '' ? this.agent.mode : await this.agent.setMode(asked as Mode)
      this.io.stderr.write(`${mode}\n`)
      if (asked !== '' && mode !== asked)
        say(
          this.io,
          'warning',
          `The settings do not permit mode ${asked}: ` +
            'see policy.max_mode and automation.full_auto.enabled in `vtcode policy list`.',
        )
    } catch (error) {
      printFailure(this.kernel, error, this.io)
    }
  }

  /** Shortens the conversation. Reports a failure; the chat continues. */
  private async compact(focus: string, signal: AbortSignal): Promise<boolean> {
    try {
      const done = await this.agent.compact(focus || undefined, { signal })
      this.io.stderr.write(done ? 'The conversation is shorter now.\n' : 'There is nothing to shorten.\n')
      return true
    } catch (error) {
      if ((error as Error).name === 'AbortError') this.io.stderr.write('cancelled\n')
      else printFailure(this.kernel, error, this.io)
      return false
    }
  }
}

function parseCommand(text: string): { word: string; rest: string } {
  const [, word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text)!
  return { word, rest }
}
