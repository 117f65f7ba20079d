import { existsSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import type { Schema } from '../shapes/index.js'
import { load, programFile, sha256 } from '../system/index.js'

export const ajvOptions = {
  strict: false,
  allErrors: true,
  verbose: true,
  validateSchema: false,
  validateFormats: true,
  logger: false,
} as const
/** The text that may be given to a pattern: a longer one fits none. */
export const most_matched = 65_536
/** No program can be given anything else, and no policy can judge it. */
export const isCommand = (text: string): boolean => !/[\0\p{Cs}]/u.test(text)
/** Formats that the workspace judges. */
export const judgedElsewhere = ['workspace-path', 'workspace-glob'] as const

// The build compiles the schemas of our own actions as it finds them bound: to load the compiler and to compile one takes as long as starting Node twice.

type Built = { made: (pattern: (text: string) => Pattern, formats: Record<string, unknown>) => ValidateFunction }

/** By the text of a schema, whatever it was made from: a schema that differs in a word is another one. */
export const builtName = (schema: Schema): string => `${sha256(JSON.stringify(schema)).slice(0, 32)}.cjs`

/** The check that the build has made of a schema; none of a schema that the build did not know. */
export function builtCheck(schema: Schema): ValidateFunction | undefined {
  const file = programFile(`manifests/schema/checks/${builtName(schema)}`)
  return existsSync(file) ? (load(file) as unknown as Built).made(pattern, { command: isCommand }) : undefined
}

/** A check as a script of the program. It needs no file of the compiler's: to find that one would take longer than to check. */
async function checkScript(check: string): Promise<string> {
  const {
    default: { default: ucs2length },
  } = await import('ajv/dist/runtime/ucs2length.js')
  const alone = check.replaceAll(
    'require("ajv/dist/runtime/ucs2length")',
    () => `{ default: ${ucs2length.toString()} }`,
  )
  return `(function (exports, require) {exports.made = (pattern, formats) => { const module = {};\n${alone}\nreturn module.exports }\n})\n`
}

/** The check of a schema as a script, for the build; none where it asks for formats that are not ours. */
export async function buildCheck(schema: Schema): Promise<string | undefined> {
  const [{ Ajv2020, _ }, { default: standalone }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv/dist/standalone/index.js'),
  ])
  const regExp = Object.assign(regexOf, { code: 'pattern' })
  const ajv = new Ajv2020({ ...ajvOptions, code: { regExp, optimize: false, source: true, formats: _`formats` } })
  for (const ours of judgedElsewhere) ajv.addFormat(ours, true)
  ajv.addFormat('command', isCommand)
  const strange = [...JSON.stringify(schema).matchAll(/"format":"([^"]*)"/g)].some(
    ([, name]) => !(name! in ajv.formats),
  )
  if (strange) return undefined
  return checkScript(standalone.default(ajv, ajv.compile(schema)))
}

interface Pattern {
  test(text: string): boolean
}

/** Patterns of our own manifests are linear in any engine. */
function pattern(text: string): Pattern {
  const regex = regexOf(text)
  return { test: (value) => value.length <= most_matched && regex.test(value) }
}

/** Case is the one thing that they ask for by a group. */
function regexOf(text: string): RegExp {
  return text.startsWith('(?i)') ? new RegExp(text.slice('(?i)'.length), 'iu') : new RegExp(text, 'u')
}
