import { isUtf8 } from 'node:buffer'
import type { Mode } from '../../../core/shapes/index.js'
import { findNearest, removeInvisible } from '../../../core/text/index.js'
import { FrontmatterError, readFrontmatter } from '../../../core/skills/index.js'

/** The fields of a definition of an agent. */
export interface AgentFields {
  /** Lower-case letters, digits and hyphens, at most 64. */
  name: string
  /** At most 1,024 characters. */
  description: string
  /** Names as in rules; absent: every tool of the parent. */
  tools?: readonly string[]
  disallowed: readonly string[]
  /** `inherit`, `small`, or the id of a model. */
  model: string
  reasoning_effort?: string
  mode?: Exclude<Mode, 'full-auto'>
  /** The maximum number of answers of the model. */
  max_turns?: number
  background: boolean
  isolation: 'shared' | 'worktree'
  skills: readonly string[]
  initial_prompt?: string
  /** Appended to the system prompt; at most 32 KiB. */
  body: string
}
/** A diagnostic about an ignored part of a file. `line` is 1-based. */
export interface AgentRemark {
  severity: 'error' | 'warning'
  message: string
  line: number
}
export interface ParsedAgent {
  /** Absent if the file is unusable. */
  agent?: AgentFields
  remarks: AgentRemark[]
}

export const agentLimits = { file: 64 * 1024, body: 32 * 1024, description: 1024, list: 200 }
const namePattern = /^[a-z][a-z0-9-]{0,63}$/
const keys = [
  'name',
  'description',
  'tools',
  'disallowedTools',
  'model',
  'reasoning_effort',
  'mode',
  'permissionMode',
  'maxTurns',
  'background',
  'isolation',
  'skills',
  'initialPrompt',
] as const
/** Keys that would widen rights or start programs. */
const IGNORED_RIGHTS = ['hooks', 'mcpServers', 'allow', 'allowedTools', 'permissions', 'rules']
/** Keys of other programs that need no diagnostic. */
const SILENT_KEYS = ['color', 'version', 'author', 'license', 'metadata', 'tags']
/** The permission modes of Claude Code. */
const CLAUDE_MODES: Readonly<Record<string, AgentFields['mode']>> = {
  plan: 'plan',
  default: 'ask',
  acceptEdits: 'auto',
}
const modes: readonly string[] = ['plan', 'ask', 'auto']

/** Parses a definition. Contract: does not throw; a definition can only reduce rights. */
export function parseAgent(bytes: Uint8Array): ParsedAgent {
  try {
    if (!isUtf8(bytes)) throw new FrontmatterError('The file is not UTF-8.', 1)
    const text = Buffer.from(bytes)
      .toString()
      .replace(/^\uFEFF/, '')
      .replace(/\r\n?/g, '\n')
    const { fields, body } = readFrontmatter(text)
    return new Reader(fields, text).read(body)
  } catch (error) {
    if (!(error instanceof FrontmatterError)) throw error
    return { remarks: [{ severity: 'error', message: error.message, line: error.line }] }
  }
}

class Reader {
  private readonly remarks: AgentRemark[] = []
  constructor(
    private readonly fields: Readonly<Record<string, unknown>>,
    private readonly source: string,
  ) {}

  read(body: string): ParsedAgent {
    this.checkKeys()
    const [name, description, prompt] = [this.name(), this.text('description'), body.trim()]
    if (description === undefined)
      this.fault('description', 'The agent has no description: add one sentence about its purpose.')
    if (description !== undefined && description.length > agentLimits.description)
      this.fault(
        'description',
        `The description has ${description.length} characters; at most ${agentLimits.description} are used.`,
      )
    if (Buffer.byteLength(prompt) > agentLimits.body)
      this.fault(
        'name',
        `The text after the front matter has ${Buffer.byteLength(prompt)} bytes; ` +
          `at most ${agentLimits.body} are used.`,
      )
    const { remarks } = this
    const optional = {
      tools: this.parseList('tools'),
      reasoning_effort: this.text('reasoning_effort'),
      mode: this.mode(),
      max_turns: this.parseCount('maxTurns'),
      initial_prompt: this.text('initialPrompt'),
    }
    const rest = {
      disallowed: this.parseList('disallowedTools') ?? [],
      model: this.text('model') ?? 'inherit',
      background: this.parseFlag('background'),
      isolation: this.isolation(),
      skills: this.parseList('skills') ?? [],
      body: prompt,
    }
    if (name === undefined || description === undefined || remarks.some(({ severity }) => severity === 'error'))
      return { remarks }
    const known = Object.fromEntries(
      Object.entries(optional).filter(([, value]) => value !== undefined),
    ) as Partial<AgentFields>
    return { agent: { name, description: removeInvisible(description), ...known, ...rest }, remarks }
  }

  private checkKeys(): void {
    for (const key of Object.keys(this.fields)) {
      if ((keys as readonly string[]).includes(key) || SILENT_KEYS.includes(key)) continue
      if (IGNORED_RIGHTS.includes(key))
        this.warn(key, `'${key}' is ignored: a definition cannot give rights or start programs.`)
      else this.warn(key, `Unknown key '${key.slice(0, 64)}'${formatSuggestion(key, keys)}; known: ${keys.join(', ')}.`)
    }
  }

  private name(): string | undefined {
    const name = this.text('name')
    if (name !== undefined && namePattern.test(name)) return name
    this.fault(
      'name',
      name === undefined
        ? 'The agent has no name.'
        : `Invalid name ${JSON.stringify(name.slice(0, 80))}: ` +
            'use 1 to 64 lower-case letters, digits and hyphens, beginning with a letter.',
    )
    return undefined
  }

  private mode(): AgentFields['mode'] {
    const own = this.text('mode')
    if (own !== undefined && modes.includes(own)) return own as AgentFields['mode']
    if (own !== undefined) this.warn('mode', `The mode '${own.slice(0, 40)}' is ignored; use plan, ask or auto.`)
    const theirs = this.text('permissionMode')
    if (theirs === undefined) return undefined
    if (Object.hasOwn(CLAUDE_MODES, theirs)) return CLAUDE_MODES[theirs]
    this.warn(
      'permissionMode',
      `permissionMode '${theirs.slice(0, 40)}' is ignored: ` +
        'an agent never has more rights than the conversation that starts it.',
    )
    return undefined
  }

  private isolation(): AgentFields['isolation'] {
    const value = this.text('isolation') ?? 'shared'
    if (value === 'shared' || value === 'worktree') return value
    this.warn('isolation', `isolation '${value.slice(0, 40)}' is ignored; use shared or worktree.`)
    return 'shared'
  }

  private parseCount(key: string): number | undefined {
    const text = this.text(key)
    if (text === undefined) return undefined
    const value = Number(text)
    if (Number.isInteger(value) && value >= 1 && value <= 1000) return value
    this.warn(key, `${key} '${text.slice(0, 40)}' is ignored; use a whole number from 1 to 1000.`)
    return undefined
  }

  private parseFlag(key: string): boolean {
    const text = this.text(key)
    if (text !== undefined && text !== 'true' && text !== 'false')
      this.warn(key, `${key} '${text.slice(0, 40)}' is ignored; use true or false.`)
    return text === 'true'
  }

  /**
   * Reads a list, or a text with commas. A tool with a specifier in parentheses is left out, because only whole tools
   * are supported.
   */
  private parseList(key: string): string[] | undefined {
    const value = this.fields[key]
    if (value === undefined || value === '*') return undefined
    const words = (
      Array.isArray(value) ? value.map(String) : typeof value === 'string' ? value.split(/,(?![^(]*\))/) : []
    )
      .map((word) => word.trim())
      .filter(Boolean)
    if (!Array.isArray(value) && typeof value !== 'string')
      this.warn(key, `'${key}' is ignored; use a list, or names with commas between them.`)
    const narrow = key === 'tools' ? words.filter((word) => word.includes('(')) : []
    for (const word of narrow)
      this.warn(key, `The tool '${word.slice(0, 80)}' is left out: use whole tools, without parentheses.`)
    const names = words.filter((word) => !narrow.includes(word)).map((word) => word.replace(/\(.*$/s, ''))
    if (names.length > agentLimits.list)
      this.warn(key, `'${key}' has ${names.length} entries; the first ${agentLimits.list} are used.`)
    return names.slice(0, agentLimits.list)
  }

  private text(key: string): string | undefined {
    const value = this.fields[key]
    if (value === undefined) return undefined
    if (typeof value === 'string') return value.trim() === '' ? undefined : value.trim()
    this.warn(key, `'${key}' is not text and is ignored.`)
    return undefined
  }

  private fault(key: string, message: string): void {
    this.remarks.push({ severity: 'error', message, line: this.line(key) })
  }
  private warn(key: string, message: string): void {
    this.remarks.push({ severity: 'warning', message, line: this.line(key) })
  }
  private line(key: string): number {
    const at = this.source.split('\n').findIndex((line) => line.startsWith(`${key}:`))
    return at < 0 ? 1 : at + 1
  }
}

const formatSuggestion = (word: string, known: readonly string[]): string => {
  const like = findNearest(word, [...known])
  return like === undefined ? '' : `; nearest: ${like}`
}
