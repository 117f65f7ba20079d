import { isUtf8 } from 'node:buffer'
import { basename } from 'node:path'
import { report, type Code, type Diagnostic, type Values } from '../shapes/index.js'
import { withoutInvisible } from '../text/index.js'
import { FrontmatterError, readFrontmatter } from './frontmatter.js'
import type { Fields } from './keyvalue.js'
import type { Skill } from './types.js'

/** A lenient reading of a `SKILL.md`: each deviation is reported once. */
export type SkillText = Pick<Skill, 'name' | 'description' | 'metadata' | 'allowed_tools' | 'hidden' | 'prompt'> &
  Partial<Pick<Skill, 'license' | 'compatibility' | 'when_to_use' | 'argument_hint'>>

export interface SkillReading {
  /** Absent when the file cannot be used. */
  skill?: SkillText
  /** What follows the front matter. */
  body: string
  /** Each with `file:line`. */
  diagnostics: Diagnostic[]
}

/** Most bytes of a `SKILL.md`, and of its front matter. */
export const skillLimits = { bytes: 1024 * 1024, head: 64 * 1024 }

/** Parses a whole `SKILL.md`. Contract: does not throw; an unusable file has an error among its diagnostics. */
export function parseSkill(bytes: Uint8Array, file: string): SkillReading {
  if (bytes.length > skillLimits.bytes) return refused(`The file is larger than ${skillLimits.bytes / 1024} KiB.`, file)
  return parseHead(bytes, file, true)
}

/** As `parseSkill`, from the first bytes of a file that may be longer. */
export function parseHead(bytes: Uint8Array, file: string, whole: boolean): SkillReading {
  const diagnostics: Diagnostic[] = []
  const say = (code: Code, values: Values, line: number) =>
    void diagnostics.push(report(code, values, [`${file}:${line}`], 'warning'))
  try {
    const { text, bom } = decodeSkill(bytes, whole)
    if (bom) say('VT_SKILL_MENDED', { problem: 'The file begins with a byte order mark.' }, 1)
    const { fields, body, repaired } = splitText(text, whole)
    const head = text.slice(0, text.length - body.length)
    let lines: Map<string, number> | undefined
    const line = (key: string) => (lines ??= linesOfKeys(head)).get(key) ?? 2
    if (repaired)
      say(
        'VT_SKILL_MENDED',
        {
          problem:
            'A value with a colon, with @ or ` at its beginning, or with more behind a bracket is not quoted, which YAML does not allow.',
        },
        2,
      )
    const split = head
      .slice(3)
      .replace(/\n---[ \t]*\n?$/, '')
      .indexOf('---')
    if (split !== -1)
      say(
        'VT_SKILL_SPLIT',
        { line: text.slice(0, split + 3).split('\n').length },
        text.slice(0, split + 3).split('\n').length,
      )
    return { skill: skillOf(fields, basename(folderOf(file)), line, say), body, diagnostics }
  } catch (error) {
    if (!(error instanceof FrontmatterError)) throw error
    const failed = refused(error.message, file, error.line)
    return { ...failed, diagnostics: [...diagnostics, ...failed.diagnostics] }
  }
}

/** Reads a command of another program as a skill; its first line describes it. Contract as of `parseSkill`. */
export function parseCommand(bytes: Uint8Array, file: string, name: string): SkillReading {
  const diagnostics: Diagnostic[] = []
  try {
    const { text: whole } = decodeSkill(bytes, true)
    const { fields, body }: { fields: Fields; body: string } = /^---[ \t]*\n/.test(whole)
      ? readFrontmatter(whole)
      : { fields: {}, body: whole }
    const first = body
      .split('\n')
      .map((line) => line.replace(/^#+\s*/, '').trim())
      .find(Boolean)
    const declared = { ...fields, name, description: text(fields['description'])?.trim() || first }
    const skill = skillOf(
      declared,
      name,
      () => 2,
      (code, values, line) => {
        // Its format has keys of its own.
        if (code !== 'VT_SKILL_KEY') diagnostics.push(report(code, values, [`${file}:${line}`], 'warning'))
      },
    )
    return { skill, body, diagnostics }
  } catch (error) {
    if (!(error instanceof FrontmatterError)) throw error
    return refused(error.message, file, error.line)
  }
}

function splitText(text: string, whole: boolean): ReturnType<typeof readFrontmatter> {
  try {
    return readFrontmatter(text)
  } catch (error) {
    if (!whole && error instanceof FrontmatterError && /not closed/.test(error.message))
      throw new FrontmatterError(`The front matter is not closed within ${skillLimits.head / 1024} KiB.`, 1)
    throw error
  }
}

/** UTF-8 with `\n` only. The end of a head may cut a character. */
function decodeSkill(bytes: Uint8Array, whole: boolean): { text: string; bom: boolean } {
  const end = [0, 1, 2, 3].slice(0, whole ? 1 : 4).find((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)))
  if (end === undefined) throw new FrontmatterError('The file is not UTF-8.', 1)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - end).toString()
  const nul = text.indexOf('\0')
  if (nul !== -1) throw new FrontmatterError('The file holds a NUL.', text.slice(0, nul).split('\n').length)
  const bom = text.startsWith('\uFEFF')
  return { text: text.slice(bom ? 1 : 0).replace(/\r\n?/g, '\n'), bom }
}

type Say = (code: Code, values: Values, line: number) => void

function skillOf(fields: Fields, folder: string, line: (key: string) => number, say: Say): SkillText {
  const description = text(fields['description'])?.trim()
  // One of invisible characters only says nothing either.
  const shown = description && cleaned(description, 1024)
  if (!description || !shown) throw new FrontmatterError('The skill has no description.', line('description'))
  const name = nameOf(fields['name'], folder, () => line('name'), say)
  const shape = (key: string, problem: string) => say('VT_SKILL_MENDED', { problem: `'${key}' ${problem}.` }, line(key))
  reportOtherKeys(fields, line, say)
  const optional = (key: string): string | undefined => {
    const value = text(fields[key])
    if (fields[key] !== undefined && value === undefined) shape(key, 'is not text and was left out')
    return value?.trim() ? cleaned(value, 1024) : undefined
  }
  if (description.length > 1024 && Array.from(description).length > 1024)
    shape('description', 'is longer than 1,024 characters and was cut')
  const hidden = yes.test(text(fields['disable-model-invocation']) ?? '')
  const invocable = text(fields['user-invocable'])
  const skill: { -readonly [K in keyof SkillText]: SkillText[K] } = {
    name,
    description: shown,
    metadata: metadataOf(fields['metadata'], shape),
    allowed_tools: toolsOf(fields['allowed-tools'], shape),
    hidden,
    prompt: invocable === undefined || yes.test(invocable),
  }
  for (const [key, field] of [
    ['license', 'license'],
    ['compatibility', 'compatibility'],
    ['when_to_use', 'when_to_use'],
    ['argument_hint', 'argument-hint'],
  ] as const) {
    const value = field === 'argument-hint' ? (hintOf(fields[field]) ?? optional(field)) : optional(field)
    if (value !== undefined) skill[key] = value
  }
  return skill
}

/** Reports the keys that are not of the open format. */
function reportOtherKeys(fields: Fields, line: (key: string) => number, say: Say): void {
  const others = Object.keys(fields).filter((key) => !standard.has(key))
  for (const [at, key] of others.slice(0, mostKeys + 1).entries()) {
    const known = honoured.has(key) ? 'is not of the open format, but honoured' : 'is not honoured'
    const problem = at < mostKeys ? known : `and ${others.length - mostKeys - 1} more are not honoured`
    say('VT_SKILL_KEY', { key: key.slice(0, 64), problem }, line(key))
  }
}

// A hostile file may have thousands, in each of thousands of skills.
const mostKeys = 20
const yes = /^(?:true|yes|on|1)$/i
const standard = new Set(['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'])
const honoured = new Set(['disable-model-invocation', 'user-invocable', 'argument-hint', 'when_to_use'])

/** `[pr-number]` is meant as it stands, and no list. */
const hintOf = (value: unknown): string | undefined =>
  Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')
    ? cleaned(`[${value.join(', ')}]`, 1024)
    : undefined
const text = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const cleaned = (value: string, most: number): string => {
  const text = withoutInvisible(value).trim()
  // No text has more characters than UTF-16 units.
  const chars = text.length > most ? Array.from(text) : []
  return chars.length > most ? `${chars.slice(0, most - 1).join('')}…` : text
}

/** The declared name where it equals that of the folder, else that of the folder. Throws `Fault`. */
function nameOf(declared: unknown, folder: string, line: () => number, say: Say): string {
  // The name that nearly every skill has is found good without tables of all the world's letters.
  if (declared === folder && folder.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(folder) && !reserved.test(folder))
    return folder
  const name = text(declared)?.trim().normalize('NFKC')
  if (name !== undefined && dangerous(name))
    throw new FrontmatterError(
      `The name ${JSON.stringify(name.slice(0, 64))} cannot be used: it holds separators or invisible characters, or is reserved.`,
      line(),
    )
  const own = folder.normalize('NFKC')
  if (!name) return byFolder('is missing', '')
  if (name !== own)
    return byFolder(
      valid(name) ? 'is not that of the folder' : 'is not made of lower-case letters, digits and single hyphens',
      name,
    )
  return valid(name) ? name : byFolder('is not made of at most 64 lower-case letters, digits and single hyphens', name)

  /** A folder such as `transformers.js` is no name: then what is declared, or what of the folder may stand in one. */
  function byFolder(problem: string, declared: string): string {
    const known = [own, declared, own.replaceAll(/[._]+/g, '-')].find((one) => valid(one) && !dangerous(one))
    if (known === undefined || dangerous(own))
      throw new FrontmatterError(
        `The name ${JSON.stringify(declared.slice(0, 64))} ${problem}, and the folder '${own}' is no name either.`,
        line(),
      )
    say(
      'VT_SKILL_NAME',
      { name: JSON.stringify(Array.from(declared).slice(0, 64).join('')), problem, folder: known },
      line(),
    )
    return known
  }
}

const valid = (name: string): boolean =>
  Array.from(name).length <= 64 && name === name.toLowerCase() && /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(name)
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const dangerous = (name: string): boolean =>
  /[/\\\p{Cc}\p{Cf}\u2028\u2029]/u.test(name) || /^\.{1,2}$/.test(name) || reserved.test(name)

function metadataOf(value: unknown, shape: (key: string, problem: string) => void): Record<string, string> {
  if (value === undefined || value === '') return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    shape('metadata', 'is not a map and was left out')
    return {}
  }
  const entries = Object.entries(value).slice(0, 64)
  return Object.fromEntries(
    entries.map(([key, item]) => [key, cleaned(typeof item === 'string' ? item : JSON.stringify(item), 1024)]),
  )
}

/** Words such as `Bash(git log:*)`, which keep their blanks in parentheses. */
function toolsOf(value: unknown, shape: (key: string, problem: string) => void): string[] {
  const words = Array.isArray(value) ? value.filter((item) => typeof item === 'string').join(' ') : (text(value) ?? '')
  if (value !== undefined && typeof value !== 'string')
    shape(
      'allowed-tools',
      Array.isArray(value)
        ? 'is a list; the open format has words with blanks between them'
        : 'is not text and was left out',
    )
  return (words.slice(0, 4096).match(/[^\s,()]+(?:\([^)]*\))?/g) ?? []).slice(0, 128).map((word) => cleaned(word, 256))
}

/** Lines of the top-level keys. */
function linesOfKeys(head: string): Map<string, number> {
  const lines = new Map<string, number>()
  for (const [index, line] of head.split('\n').entries()) {
    const key = /^(?:"([^"]+)"|'([^']+)'|([^\s:]+))[ \t]*:/.exec(line)?.slice(1).find(Boolean)
    if (key !== undefined && !lines.has(key)) lines.set(key, index + 1)
  }
  return lines
}

const folderOf = (file: string): string => file.slice(0, Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')))
const refused = (problem: string, file: string, line = 1): SkillReading => ({
  body: '',
  diagnostics: [report('VT_SKILL_INVALID', { problem }, [`${file}:${line}`])],
})
