import type { Kernel, Offer } from '../../../core/contract/index.js'
import type { JsonObject } from '../../../core/shapes/index.js'
import type { Skill } from '../../../core/skills/index.js'
import { nextCall } from '../base/index.js'

/** A part of a command: text, or a call whose output replaces the part. */
export type PromptPart = { text: string } | { run: string } | { read: string }

/**
 * Marks of the parts that other programs run or read when a person calls the command: TOML for Gemini, Markdown for
 * others.
 */
const PART_PATTERNS = {
  toml: /!\{((?:[^{}]|\{\{args\}\}|\{[^{}]*\})*)\}|@\{([^{}]*)\}/g,
  md: /(?<![^\s(])!`([^`\n]+)`|(?<![^\s(])@((?:\.{0,2}\/)?[\w$-][\w$./-]*[\w-])/g,
}
const ARGUMENT_PATTERNS = {
  toml: /\{\{args\}\}/g,
  md: /\$(?:ARGUMENTS\[(\d)\]|ARGUMENTS(?![\w[])|@|([1-9])(?!\w)|\{arguments\.([\w-]+)\})/g,
}
type Form = keyof typeof PART_PATTERNS
type Command = Pick<Skill, 'file' | 'argument_hint'>
const resolveForm = ({ file }: Command): Form => (file.endsWith('.toml') ? 'toml' : 'md')

/** Splits arguments into words; quoted words stay together. */
const splitWords = (declared: string): string[] =>
  [...declared.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, ...one]) => one.find((word) => word !== undefined)!)

/** Fills the arguments into a text in one pass, so that marks inside arguments have no effect. */
function fillArguments(
  text: string,
  skill: Command,
  declared: string,
  shown: (value: string) => string = String,
): string {
  const form = resolveForm(skill)
  const words = splitWords(declared)
  const named = (skill.argument_hint ?? '').split(' ')
  return text.replace(ARGUMENT_PATTERNS[form], (whole, index?: string, place?: string, name?: string) => {
    if (form === 'toml') return shown(declared)
    if (name !== undefined && !named.includes(name)) return whole
    const at =
      index !== undefined
        ? Number(index)
        : place !== undefined
          ? Number(place) - 1
          : name === undefined
            ? undefined
            : named.indexOf(name)
    return shown(at === undefined ? declared : (words[at] ?? ''))
  })
}

/** Quotes a word for the shell. */
const quoteForShell = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`

/** Inserts arguments into instructions, at the end if they name none. */
export function insertArguments(body: string, skill: Command, declared: string): string {
  if (declared === '') return body
  return body.search(ARGUMENT_PATTERNS[resolveForm(skill)]) < 0
    ? `${body}\n\nARGUMENTS: ${declared}`
    : fillArguments(body, skill, declared)
}

/** Splits a command into parts with arguments filled in, quoted for the shell in parts that run. */
export function parsePromptParts(skill: Command, body: string, declared: string): PromptPart[] {
  const form = resolveForm(skill)
  const text = (from: number, to?: number): void =>
    void parts.push({
      text: declared === '' ? body.slice(from, to) : fillArguments(body.slice(from, to), skill, declared),
    })
  const parts: PromptPart[] = []
  let end = 0
  for (const { 0: whole, 1: run, 2: read, index } of body.matchAll(PART_PATTERNS[form])) {
    text(end, index)
    parts.push(
      run === undefined
        ? { read: fillArguments(read!, skill, declared).trim() }
        : { run: fillArguments(run, skill, declared, quoteForShell).trim() },
    )
    end = index + whole.length
  }
  text(end)
  if (declared !== '' && body.search(ARGUMENT_PATTERNS[form]) < 0) parts.push({ text: `\n\nARGUMENTS: ${declared}` })
  return parts
}

/** Lists the calls that a command makes when a person calls it. */
export const describeEffects = (skill: Skill, declared: string): string[] =>
  skill.body === undefined
    ? []
    : parsePromptParts(skill, skill.body, declared).flatMap((part) =>
        'run' in part ? [`runs ${part.run}`] : 'read' in part ? [`reads ${part.read}`] : [],
      )

/** A prompt that a person calls by name: of a manifest, or a skill that users may call. */
export interface UserPrompt {
  offer: Offer
  skill?: Skill
  /** Returns the call whose result is the prompt. */
  call(values: Readonly<Record<string, string>>): { tool: string; input: JsonObject }
}

export function listPrompts(kernel: Pick<Kernel, 'inspection'>): UserPrompt[] {
  const own = kernel.inspection
    .offers('prompt')
    .map((offer): UserPrompt => ({ offer, call: (input) => ({ tool: offer.slot, input }) }))
  const taken = new Set(own.map(({ offer }) => offer.name))
  const skills = kernel.inspection
    .skills()
    .all.filter(({ prompt, state, name }) => prompt && state === 'active' && !taken.has(name))
  return [...own, ...skills.map(toPrompt)]
}

function toPrompt(skill: Skill): UserPrompt {
  const { id, name, description, argument_hint } = skill
  const { tool } = nextCall('skill')
  const texts = argument_hint === undefined ? {} : { arguments: [{ name: 'arguments', description: argument_hint }] }
  return {
    offer: { slot: tool, name, description, ...texts },
    skill,
    call: ({ arguments: given = '' }) => ({ tool, input: { name: id, ...(given !== '' && { arguments: given }) } }),
  }
}
