import type { Io, Kernel, Mode } from '../../../core/index.js'
import {
  childrenText,
  givenImages,
  goalText,
  notAppliedLines,
  printFailure,
  summary,
  tasksText,
} from '../../agent/cli/index.js'
import type { Agent, GivenImage, Task as AgentTask } from '../../agent/index.js'
import { filledPrompt, interactive, oneLine, promptHelp, promptNamed, say } from '../../lib/terminal/index.js'
import { scheduleCommand } from './loops.js'

export const help = `/help shows this, /mode says the mode and /mode auto changes it, /plan [what] asks for a plan before anything is changed,
/tasks shows the steps of the task, /agents the agents that do parts of it, /compact [what matters] shortens the conversation,
/goal <text> goes on until it is met (lines that begin with verify: name commands that prove it), /goal shows it, /goal clear ends it,
/loop [10m] <prompt> begins something again and again, /remind <18:30 | +45m> <text> once; /loop list, /loop cancel <id|all>,
/image <file> gives an image with what you say next, /quit ends.
While an answer is under way, what you type waits for its end; /steer <text> ends it and continues with the text. Ctrl-C ends it and gives back what waits.
`

/** What the person says, and what it does to the agent. */
export class Talk {
  /** How the last turn ended, for those who cannot look. */
  code = 0
  over = false
  /** Images for the next message. */
  images: GivenImage[] = []

  constructor(
    private readonly kernel: Kernel,
    private readonly agent: Agent,
    private readonly io: Io,
  ) {}

  /** A message while nothing is under way. Returns whether all went well. */
  async said(text: string, signal: AbortSignal): Promise<boolean> {
    const { word, rest } = taken(text)
    if (word === '/compact') return this.shorten(rest, signal)
    if (await this.command(word, rest)) return true
    if (word === '/plan' && rest !== '') await this.mode('plan')
    const prompt = await promptNamed(this.kernel, word)
    const plain = word === '/goal' ? await this.goal(rest) : word === '/steer' || word === '/plan' ? rest : text
    const task = prompt ? await filledPrompt(this.kernel, prompt, rest, this.io, signal) : plain
    if (task === undefined) return prompt === undefined
    const images = this.images.splice(0)
    return this.run(images.length > 0 ? { text: task, images } : task, signal)
  }

  /** A turn, or without a task what is due by itself. Returns whether all went well. */
  async run(task: string | AgentTask | undefined, signal: AbortSignal): Promise<boolean> {
    const outcome = await this.agent.run(task, { signal })
    this.code = outcome.exit_code
    const { outcome_code } = outcome
    this.io.stderr.write(notAppliedLines(outcome))
    // Whoever sits here knows what they stopped and what they refused.
    if (outcome_code === 'success' || (outcome_code === 'escalated' && interactive(this.io))) return true
    this.io.stderr.write(outcome_code === 'cancelled' ? 'cancelled\n' : `${summary(outcome)}\n`)
    return false
  }

  /** A message while something is under way. */
  async meanwhile(text: string, stop: () => void): Promise<void> {
    const { word, rest } = taken(text)
    if (word === '/compact' || ((word === '/goal' || word === '/plan') && rest !== ''))
      return say(this.io, 'error', 'Wait for the end of what is under way, or stop it with Ctrl-C.')
    if (await this.command(word, rest)) return this.over ? stop() : undefined
    const prompt = await promptNamed(this.kernel, word)
    const steer = word === '/steer'
    if (steer && rest === '') return say(this.io, 'error', 'Say what comes instead: /steer <text>.')
    try {
      const filled = prompt ? await filledPrompt(this.kernel, prompt, rest, this.io, this.io.signal) : text
      if (filled === undefined) return
      await (steer ? this.agent.steer(rest) : this.agent.followUp(filled))
      say(
        this.io,
        'info',
        steer ? `Ended; next comes: ${oneLine(rest)}` : `This waits for the end of the turn: ${oneLine(text)}`,
      )
    } catch (error) {
      printFailure(this.kernel, error, this.io)
    }
  }

  /** A command that needs no model. Returns whether the word is one. */
  private async command(word: string, rest: string): Promise<boolean> {
    const { io } = this
    const run = Object.hasOwn(this.commands, word) ? this.commands[word] : undefined
    if (run) await run(rest, word)
    else if (word === '/plan' && rest === '') await this.mode('plan')
    else if (word === '/goal' && rest === '') io.stderr.write(goalText(this.agent))
    else if (await promptNamed(this.kernel, word)) return false
    else if (/^\/(?!(?:steer|goal|plan)$)\w*$/.test(word)) {
      say(io, 'error', `Unknown command ${word}; /help shows what there is. Nothing was sent to the model.`)
    } else return false
    return true
  }

  private readonly commands: Record<string, (rest: string, word: string) => unknown> = {
    '/quit': () => (this.over = true),
    '/exit': () => (this.over = true),
    '/help': async () => this.io.stderr.write(help + (await promptHelp(this.kernel))),
    '/mode': (rest) => this.mode(rest),
    '/loop': (rest, word) => scheduleCommand(this.kernel, this.agent, this.io, { word, rest }),
    '/remind': (rest, word) => scheduleCommand(this.kernel, this.agent, this.io, { word, rest }),
    '/tasks': () => this.io.stderr.write(tasksText(this.agent)),
    '/agents': () => this.io.stderr.write(childrenText(this.agent)),
    '/image': async (path, word) => this.images.push(...((await givenImages({ image: [path] }, this.io, word)) ?? [])),
  }

  /** Sets a goal, which is then the task; `undefined` where there is nothing to do for it. */
  private async goal(said: string): Promise<string | undefined> {
    const { agent, io } = this
    const before = agent.goal
    if (said === 'clear') {
      await agent.setGoal(undefined)
      io.stderr.write(before === undefined ? 'There is no goal.\n' : 'The goal is cleared.\n')
      return undefined
    }
    const lines = said.split('\n').map((line) => line.trim())
    const commands = lines.flatMap((line) => /^verify: *(\S.*)$/.exec(line)?.[1] ?? [])
    const text = lines
      .filter((line) => !line.startsWith('verify:'))
      .join('\n')
      .trim()
    if (text === '') {
      say(io, 'error', 'Say the goal before the lines with `verify:`: /goal <text>.')
      return undefined
    }
    try {
      await agent.setGoal(text, commands)
    } catch (error) {
      printFailure(this.kernel, error, io)
      return undefined
    }
    if (before !== undefined) io.stderr.write(`This takes the place of the goal: ${oneLine(before)}\n`)
    return text
  }

  private async mode(asked: string): Promise<void> {
    try {
      const mode = asked === '' ? this.agent.mode : await this.agent.setMode(asked as Mode)
      this.io.stderr.write(`${mode}\n`)
      if (asked !== '' && mode !== asked)
        say(
          this.io,
          'warning',
          `${asked} is more than the settings permit: see policy.max_mode and automation.full_auto.enabled in \`vtcode policy list\`.`,
        )
    } catch (error) {
      printFailure(this.kernel, error, this.io)
    }
  }

  /** Shortens the conversation; where that cannot be, the chat goes on. */
  private async shorten(focus: string, signal: AbortSignal): Promise<boolean> {
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

function taken(text: string): { word: string; rest: string } {
  const [, word = '', rest = ''] = /^(\S+)\s*([\s\S]*)$/.exec(text)!
  return { word, rest }
}
