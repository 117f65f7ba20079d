import { isUtf8 } from 'node:buffer'
import { basename } from 'node:path'
import { createDiagnostic, type Code, type Diagnostic, type Values } from '../shapes/index.js'
import { removeInvisible } from '../text/index.js'
import { FrontmatterError, readFrontmatter } from './frontmatter.js'
import type { Fields } from './keyvalue.js'
import type { Skill } from './types.js'

/** The fields of a `SKILL.md`, read leniently: each deviation is reported once. */
export type SkillText = Pick<Skill, 'name' | 'description' | 'metadata' | 'allowed_tools' | 'hidden' | 'prompt'> &
  Partial<Pick<Skill, 'license' | 'compatibility' | 'when_to_use' | 'argument_hint'>>

export interface SkillReading {
  /** Absent when the file cannot be used. */
  skill?: SkillText
  /** The text after the front matter. */
  body: string
  /** Each has `file:line`. */
  diagnostics: Diagnostic[]
}

/** Maximum size of a `SKILL.md`, and of its front matter. */
export const skillLimits = { bytes: 1024 * 1024, head: 64 * 1024 }

/** Parses a whole `SKILL.md`. Contract: does not throw; an unusable file has an error among its diagnostics. */
export function parseSkill(bytes: Uint8Array, file: string): SkillReading {
  if (bytes.length > skillLimits.bytes)
    return createFailedReading(`The file is larger than ${skillLimits.bytes / 1024} KiB.`, file)
  return parseHead(bytes, file, true)
}

/** Parses like `parseSkill`, from the first bytes of a file that may be longer. */
export function parseHead(bytes: Uint8Array, file: string, whole: boolean): SkillReading {
  const diagnostics: Diagnostic[] = []
  const report = (code: Code, values: Values, line: number) =>
    void diagnostics.push(createDiagnostic(code, values, [`${file}:${line}`], 'warning'))
  try {
    const { text, bom } = decodeSkill(bytes, whole)
    if (bom) report('VT_SKILL_MENDED', { problem: 'The file begins with a byte order mark.' }, 1)
    const { fields, body, repaired } = splitText(text, whole)
    const head = text.slice(0, text.length - body.length)
    let lines: Map<string, number> | undefined
    const line = (key: string) => (lines ??= mapKeyLines(head)).get(key) ?? 2
    if (repaired)
      report(
        'VT_SKILL_MENDED',
        {
          problem:
            'YAML requires quotes around a value that contains a colon, begins with @ or `, ' +
            'or continues after a bracket.',
        },
        2,
      )
    const split = head
      .slice(3)
      .replace(/\n---[ \t]*\n?$/, '')
      .indexOf('---')
    if (split !== -1)
      report(
        'VT_SKILL_SPLIT',
        { line: text.slice(0, split + 3).split('\n').length },
        text.slice(0, split + 3).split('\n').length,
      )
    return { skill: toSkill(fields, basename(getParentFolder(file)), line, report), body, diagnostics }
  } catch (error) {
    if (!(error instanceof FrontmatterError)) throw error
    const failed = createFailedReading(error.message, file, error.line)
    return { ...failed, diagnostics: [...diagnostics, ...failed.diagnostics] }
  }
}

/** Reads a command of another program as a skill; its first line is the description. Contract as for `parseSkill`. */
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
    const declared = { ...fields, name, description: readString(fields['description'])?.trim() || first }
    const skill = toSkill(
      declared,
      name,
      () => 2,
      (code, values, line) => {
        // The format of commands has its own keys.
        if (code !== 'VT_SKILL_KEY') diagnostics.push(createDiagnostic(code, values, [`${file}:${line}`], 'warning'))
      },
    )
    return { skill, body, diagnostics }
  } catch (error) {
    if (!(error instanceof FrontmatterError)) throw error
    return createFailedReading(error.message, file, error.line)
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

/** Decodes UTF-8 and converts line ends to `\n`. The end of a head may cut a character. */
function decodeSkill(bytes: Uint8Array, whole: boolean): { text: string; bom: boolean } {
  const end = [0, 1, 2, 3].slice(0, whole ? 1 : 4).find((cut) => isUtf8(bytes.subarray(0, bytes.length - cut)))
  if (end === undefined) throw new FrontmatterError('The file is not UTF-8.', 1)
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length - end).toString()
  const nul = text.indexOf('\0')
  if (nul !== -1)
    throw new FrontmatterError('The file contains a NUL character.', text.slice(0, nul).split('\n').length)
  const bom = text.startsWith('\uFEFF')
  return { text: text.slice(bom ? 1 : 0).replace(/\r\n?/g, '\n'), bom }
}

type Report = (code: Code, values: Values, line: number) => void

function toSkill(fields: Fields, folder: string, line: (key: string) => number, report: Report): SkillText {
  const description = readString(fields['description'])?.trim()
  // A description of invisible characters only is empty too.
  const shown = description && cleanText(description, 1024)
  if (!description || !shown) throw new FrontmatterError('The skill has no description.', line('description'))
  const name = resolveName(fields['name'], folder, () => line('name'), report)
  const shape = (key: string, problem: string) =>
    report('VT_SKILL_MENDED', { problem: `'${key}' ${problem}.` }, line(key))
  reportOtherKeys(fields, line, report)
  const optional = (key: string): string | undefined => {
    const value = readString(fields[key])
    if (fields[key] !== undefined && value === undefined) shape(key, 'is not text and was ignored')
    return value?.trim() ? cleanText(value, 1024) : undefined
  }
  if (description.length > 1024 && Array.from(description).length > 1024)
    shape('description', 'is longer than 1,024 characters and was cut')
  const hidden = truePattern.test(readString(fields['disable-model-invocation']) ?? '')
  const invocable = readString(fields['user-invocable'])
  const skill: { -readonly [K in keyof SkillText]: SkillText[K] } = {
    name,
    description: shown,
    metadata: parseMetadata(fields['metadata'], shape),
    allowed_tools: parseAllowedTools(fields['allowed-tools'], shape),
    hidden,
    prompt: invocable === undefined || truePattern.test(invocable),
  }
  for (const [key, field] of [
    ['license', 'license'],
    ['compatibility', 'compatibility'],
    ['when_to_use', 'when_to_use'],
    ['argument_hint', 'argument-hint'],
  ] as const) {
    const value = field === 'argument-hint' ? (parseArgumentHint(fields[field]) ?? optional(field)) : optional(field)
    if (value !== undefined) skill[key] = value
  }
  return skill
}

/** Reports the keys that are not part of the open format. */
function reportOtherKeys(fields: Fields, line: (key: string) => number, report: Report): void {
  const others = Object.keys(fields).filter((key) => !standardKeys.has(key))
  for (const [at, key] of others.slice(0, MAX_REPORTED_KEYS + 1).entries()) {
    const known = supportedKeys.has(key) ? 'is not part of the open format, but supported' : 'is not supported'
    const problem =
      at < MAX_REPORTED_KEYS ? known : `and ${others.length - MAX_REPORTED_KEYS - 1} more are not supported`
    report('VT_SKILL_KEY', { key: key.slice(0, 64), problem }, line(key))
  }
}

// A hostile file may have thousands, in each of thousands of skills.
const MAX_REPORTED_KEYS = 20
const truePattern = /^(?:true|yes|on|1)$/i
const standardKeys = new Set(['name', 'description', 'license', 'compatibility', 'metadata', 'allowed-tools'])
const supportedKeys = new Set(['disable-model-invocation', 'user-invocable', 'argument-hint', 'when_to_use'])

/** Parses `[pr-number]` as text, although YAML reads a list. */
const parseArgumentHint = (value: unknown): string | undefined =>
  Array.isArray(value) && value.length > 0 && value.every((word) => typeof word === 'string')
    ? cleanText(`[${value.join(', ')}]`, 1024)
    : undefined
const readString = (value: unknown): string | undefined => (typeof value === 'string' ? value : undefined)
const cleanText = (value: string, most: number): string => {
  const text = removeInvisible(value).trim()
  // The number of characters never exceeds the number of UTF-16 units.
  const chars = text.length > most ? Array.from(text) : []
  return chars.length > most ? `${chars.slice(0, most - 1).join('')}…` : text
}

/** Returns the declared name if it equals the name of the folder, else the latter. Throws FrontmatterError. */
function resolveName(declared: unknown, folder: string, line: () => number, report: Report): string {
  // Most names pass this check without the slow Unicode tables.
  if (declared === folder && folder.length <= 64 && /^[a-z0-9]+(?:-[a-z0-9]+)*$/.test(folder) && !reserved.test(folder))
    return folder
  const name = readString(declared)?.trim().normalize('NFKC')
  if (name !== undefined && isUnsafeName(name))
    throw new FrontmatterError(
      `The name ${JSON.stringify(name.slice(0, 64))} cannot be used: ` +
        'it contains separators or invisible characters, or is reserved.',
      line(),
    )
  const own = folder.normalize('NFKC')
  if (!name) return useFolderName('is missing', '')
  if (name !== own)
    return useFolderName(
      isValidName(name)
        ? 'differs from the name of the folder'
        : 'has other characters than lower-case letters, digits and single hyphens',
      name,
    )
  return isValidName(name)
    ? name
    : useFolderName('does not consist of at most 64 lower-case letters, digits and single hyphens', name)

  /**
   * Chooses the first valid name of: folder, declaration, folder with `.` and `_` replaced. A folder such as
   * `transformers.js` is not a valid name.
   */
  function useFolderName(problem: string, declared: string): string {
    const known = [own, declared, own.replaceAll(/[._]+/g, '-')].find((one) => isValidName(one) && !isUnsafeName(one))
    if (known === undefined || isUnsafeName(own))
      throw new FrontmatterError(
        `The name ${JSON.stringify(declared.slice(0, 64))} ${problem}, ` +
          `and the name of the folder, '${own}', is invalid too.`,
        line(),
      )
    report(
      'VT_SKILL_NAME',
      { name: JSON.stringify(Array.from(declared).slice(0, 64).join('')), problem, folder: known },
      line(),
    )
    return known
  }
}

const isValidName = (name: string): boolean =>
  Array.from(name).length <= 64 && name === name.toLowerCase() && /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u.test(name)
const reserved = /^(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|$)/i
const isUnsafeName = (name: string): boolean =>
  /[/\\\p{Cc}\p{Cf}\u2028\u2029]/u.test(name) || /^\.{1,2}$/.test(name) || reserved.test(name)

function parseMetadata(value: unknown, shape: (key: string, problem: string) => void): Record<string, string> {
  if (value === undefined || value === '') return {}
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    shape('metadata', 'is not a map and was ignored')
    return {}
  }
  const entries = Object.entries(value).slice(0, 64)
  return Object.fromEntries(
    entries.map(([key, item]) => [key, cleanText(typeof item === 'string' ? item : JSON.stringify(item), 1024)]),
  )
}

/** Parses words such as `Bash(git log:*)`; blanks in parentheses are kept. */
function parseAllowedTools(value: unknown, shape: (key: string, problem: string) => void): string[] {
  const words = Array.isArray(value)
    ? value.filter((item) => typeof item === 'string').join(' ')
    : (readString(value) ?? '')
  if (value !== undefined && typeof value !== 'string')
    shape(
      'allowed-tools',
      Array.isArray(value)
        ? 'is a list; the open format uses words separated by blanks'
        : 'is not text and was ignored',
    )
  return (words.slice(0, 4096).match(/[^\s,()]+(?:\([^)]*\))?/g) ?? [])
    .slice(0, 128)
    .map((word) => cleanText(word, 256))
}

/** Returns the lines of the top-level keys. */
function mapKeyLines(head: string): Map<string, number> {
  const lines = new Map<string, number>()
  for (const [index, line] of head.split('\n').entries()) {
    const key = /^(?:"([^"]+)"|'([^']+)'|([^\s:]+))[ \t]*:/.exec(line)?.slice(1).find(Boolean)
    if (key !== undefined && !lines.has(key)) lines.set(key, index + 1)
  }
  return lines
}

const getParentFolder = (file: string): string => file.slice(0, Math.max(file.lastIndexOf('/'), file.lastIndexOf('\\')))
const createFailedReading = (problem: string, file: string, line = 1): SkillReading => ({
  body: '',
  diagnostics: [createDiagnostic('VT_SKILL_INVALID', { problem }, [`${file}:${line}`])],
})
