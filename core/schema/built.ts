import { existsSync } from 'node:fs'
import type { ValidateFunction } from 'ajv'
import type { Schema } from '../shapes/index.js'
import { load, programFile, sha256 } from '../system/index.js'

export const AJV_OPTIONS = {
  strict: false,
  allErrors: true,
  verbose: true,
  validateSchema: false,
  validateFormats: true,
  logger: false,
} as const
/** Longest text for a pattern, in UTF-16 units: a longer one matches none. */
export const MAX_MATCHED_LENGTH = 65_536
/** Returns whether a text can be an argument of a program; policies judge no other text. */
export const isCommand = (text: string): boolean => !/[\0\p{Cs}]/u.test(text)
/** Formats that the workspace checks. */
export const WORKSPACE_FORMATS = ['workspace-path', 'workspace-glob'] as const

// The build compiles the schemas of our own actions in their bound form: loading the compiler and compiling one
// schema takes as long as starting Node twice.

type BuiltCheck = { made: (pattern: (text: string) => Pattern, formats: Record<string, unknown>) => ValidateFunction }

/**
 * Returns the file name of a check, from the text of the schema: a schema that differs in one word has another name.
 */
export const checkFileName = (schema: Schema): string => `${sha256(JSON.stringify(schema)).slice(0, 32)}.cjs`

/** Loads the check that the build made of a schema; nothing for a schema that the build did not know. */
export function loadBuiltCheck(schema: Schema): ValidateFunction | undefined {
  const file = programFile(`manifests/schema/checks/${checkFileName(schema)}`)
  return existsSync(file) ? (load(file) as unknown as BuiltCheck).made(pattern, { command: isCommand }) : undefined
}

/**
 * Replaces what a generated check requires of ajv by its code, for the build: the package has no folder of ajv, and
 * finding one would take longer than the check. Throws if something else is required.
 */
export async function inlineRuntime(check: string): Promise<string> {
  const [ucs2length, equal] = await Promise.all([
    import('ajv/dist/runtime/ucs2length.js'),
    import('ajv/dist/runtime/equal.js'),
  ])
  const functions: Record<string, { toString(): string }> = {
    ucs2length: ucs2length.default.default,
    equal: equal.default.default,
  }
  return check.replace(/require\("ajv\/dist\/runtime\/(\w+)"\)/g, (call, name: string) => {
    if (!functions[name]) throw new Error(`A check needs ${call}. Add it to inlineRuntime.`)
    return `{ default: ${functions[name].toString()} }`
  })
}

async function createCheckScript(check: string): Promise<string> {
  const body = `const module = {};\n${await inlineRuntime(check)}\nreturn module.exports`
  return `(function (exports, require) {exports.made = (pattern, formats) => { ${body} }\n})\n`
}

/** Compiles a schema to a script, for the build; nothing if it uses formats that are not ours. */
export async function buildCheck(schema: Schema): Promise<string | undefined> {
  const [{ Ajv2020, _ }, { default: standalone }] = await Promise.all([
    import('ajv/dist/2020.js'),
    import('ajv/dist/standalone/index.js'),
  ])
  const regExp = Object.assign(toRegExp, { code: 'pattern' })
  const ajv = new Ajv2020({ ...AJV_OPTIONS, code: { regExp, optimize: false, source: true, formats: _`formats` } })
  for (const ours of WORKSPACE_FORMATS) ajv.addFormat(ours, true)
  ajv.addFormat('command', isCommand)
  const strange = [...JSON.stringify(schema).matchAll(/"format":"([^"]*)"/g)].some(
    ([, name]) => !(name! in ajv.formats),
  )
  if (strange) return undefined
  return createCheckScript(standalone.default(ajv, ajv.compile(schema)))
}

interface Pattern {
  test(text: string): boolean
}

/** Compiles a pattern of our own manifests, which is linear in any engine. */
function pattern(text: string): Pattern {
  const regex = toRegExp(text)
  return { test: (value) => value.length <= MAX_MATCHED_LENGTH && regex.test(value) }
}

/** Compiles the regular expression; the only group for flags in our manifests is `(?i)`. */
function toRegExp(text: string): RegExp {
  return text.startsWith('(?i)') ? new RegExp(text.slice('(?i)'.length), 'iu') : new RegExp(text, 'u')
}
