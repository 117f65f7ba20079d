import type { Kernel, Offer } from '../../../core/contract/index.js'
import type { JsonObject } from '../../../core/shapes/index.js'
import type { Skill } from '../../../core/skills/index.js'
import { nextCall } from '../base/index.js'

/** A part of a command: text as it stands, or what stands in the place of what a call gives. */
export type PromptPart = { text: string } | { run: string } | { read: string }

/** Other programs run and read these parts of a command when a person calls it by its name: those of Gemini are TOML, those of others Markdown. */
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

/** The words of a person's arguments, quoted ones as one. */
const splitWords = (declared: string): string[] =>
  [...declared.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g)].map(([, ...one]) => one.find((word) => word !== undefined)!)

/** Text with its arguments filled in, in one pass: what they hold is never looked at again. */
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

/** A word for the shell, whatever is in it. */
const quoteForShell = (value: string): string => `'${value.replaceAll("'", "'\\''")}'`

/** Instructions with what their caller gave them, behind a text that names no arguments at its end; given nothing they stay as they are. */
export function insertArguments(body: string, skill: Command, declared: string): string {
  if (declared === '') return body
  return body.search(ARGUMENT_PATTERNS[resolveForm(skill)]) < 0
    ? `${body}\n\nARGUMENTS: ${declared}`
    : fillArguments(body, skill, declared)
}

/** A command in parts, each with its arguments filled in: as words of the shell in what is to run, as they are elsewhere. */
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

/** What a person who calls a command has done by it, before it is done. */
export const describeEffects = (skill: Skill, declared: string): string[] =>
  skill.body === undefined
    ? []
    : parsePromptParts(skill, skill.body, declared).flatMap((part) =>
        'run' in part ? [`runs ${part.run}`] : 'read' in part ? [`reads ${part.read}`] : [],
      )

/** A prompt that a person calls by its name: of a manifest, or a skill that users may call. */
export interface UserPrompt {
  offer: Offer
  skill?: Skill
  /** The call that answers with it. */
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
