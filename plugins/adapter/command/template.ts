import { toText } from '../../../core/text/index.js'
import { VtError, type JsonObject, type Schema } from '../../../core/index.js'
import { parseReference, type Piece } from '../../lib/values/index.js'

/** One element of `run`, checked. */
type Element =
  | { kind: 'text'; source: string; pieces: Piece[] }
  | { kind: 'if'; path: string; then: Element[]; otherwise: Element[] }
  | { kind: 'each'; path: string; args: Element[] }
  | { kind: 'json'; path: string }

/** An argv template, never run by a shell. One element stays one argument, except for `{a...}` and `each`. */
export interface ArgvTemplate {
  /** The program, as written. */
  program: string
  render(values: TemplateValues): string[]
}
export interface TemplateValues {
  input: Readonly<JsonObject>
  workspace: string
  plugin_root: string
  plugin_data: string
  options: Readonly<JsonObject>
}
interface Scope extends TemplateValues {
  item?: unknown
  /** Inside an `if`, an absent value omits its element. */
  optional?: boolean
}

const MAX_ARGUMENT_BYTES = 128 * 1024
const MAX_TOTAL_BYTES = 1024 * 1024

/** Parses `run`. Throws VT_MANIFEST_INVALID; `render` throws VT_COMMAND_ARGUMENT. */
export function parseTemplate(run: readonly unknown[], schema: Schema, allowDash: readonly string[]): ArgvTemplate {
  const [first, ...rest] = run
  if (
    typeof first !== 'string' ||
    parseReference(first, createElementError).some((piece) => piece.kind !== 'literal')
  ) {
    throw createManifestError('The first element of run must be the program, without references.')
  }
  const elements = rest.map((element) => parseElement(element, schema, false))
  refuseCode([first, ...rest])
  return {
    program: parseReference(first, createElementError)
      .map((piece) => (piece.kind === 'literal' ? piece.text : ''))
      .join(''),
    render: (values) => {
      let guarded = false
      const argv = elements.flatMap((element) => {
        const args = renderElement(element, values, (name, text) => {
          if (guarded || !text.startsWith('-') || allowDash.includes(name) || isChoice(schema, name)) return text
          if (findProperty(schema, name)?.format === 'workspace-path') return `./${text}`
          throw createArgumentError(
            name,
            `begins with '-' and could be read as an option: ${JSON.stringify(text.slice(0, 80))}`,
          )
        })
        if (element.kind === 'text' && element.source === '--') guarded = true
        return args
      })
      const total = argv.reduce((sum, arg) => sum + Buffer.byteLength(arg) + 1, 0)
      if (total > MAX_TOTAL_BYTES)
        throw createArgumentError(
          'run',
          `makes ${total} bytes of arguments; at most ${MAX_TOTAL_BYTES} are allowed. Use stdin`,
        )
      return argv
    },
  }
}

function parseElement(element: unknown, schema: Schema, inEach: boolean): Element {
  const requirePath = (path: string): string => requireDeclared(path, schema, inEach)
  const inner = (list: unknown, each: boolean): Element[] => {
    if (!Array.isArray(list)) throw createElementError(JSON.stringify(element))
    return list.map((one) => parseElement(one, schema, each))
  }
  if (typeof element === 'string') {
    const pieces = parseReference(element, createElementError)
    for (const piece of pieces) if (piece.kind === 'value' || piece.kind === 'spread') requirePath(piece.path)
    if (pieces.some((piece) => piece.kind === 'spread') && pieces.length > 1) throw createElementError(element)
    return { kind: 'text', source: element, pieces }
  }
  const keys = element !== null && typeof element === 'object' ? Object.keys(element).sort().join() : ''
  const parts = element as { if: string; then: unknown; else?: unknown; each: string; args: unknown; json: string }
  if (keys === 'if,then' || keys === 'else,if,then') {
    return {
      kind: 'if',
      path: requirePath(parts.if),
      // oxlint-disable-next-line unicorn/no-thenable -- The key of the format; nothing awaits this.
      then: inner(parts.then, inEach),
      otherwise: inner(parts.else ?? [], inEach),
    }
  }
  if (keys === 'args,each') return { kind: 'each', path: requirePath(parts.each), args: inner(parts.args, true) }
  if (keys === 'json') return { kind: 'json', path: requirePath(parts.json) }
  throw createElementError(JSON.stringify(element))
}

type Guard = (name: string, text: string) => string

function renderElement(element: Element, scope: Scope, guard: Guard): string[] {
  if (element.kind === 'json') {
    const value = lookUp(element.path, scope)
    if (value === undefined) return omitOrThrow(element.path, scope)
    return [validateArgument(element.path, JSON.stringify(value))]
  }
  if (element.kind === 'if') {
    const value = lookUp(element.path, scope)
    const chosen = value === undefined || value === false ? element.otherwise : element.then
    return chosen.flatMap((inner) => renderElement(inner, { ...scope, optional: true }, guard))
  }
  if (element.kind === 'each') {
    return readItems(element.path, scope).flatMap((item) =>
      element.args.flatMap((inner) => renderElement(inner, { ...scope, item }, guard)),
    )
  }
  const [only] = element.pieces
  if (only?.kind === 'spread')
    return readItems(only.path, scope).map((item) => guard(only.path, toArgument(only.path, item)))
  let text = ''
  for (const piece of element.pieces) {
    if (piece.kind === 'literal') text += piece.text
    else if (piece.kind === 'special') text += resolveSpecial(piece.name, scope)
    else {
      const value = lookUp(piece.path, scope)
      if (value === undefined) return omitOrThrow(piece.path, scope)
      // Only the start of an argument can turn it into an option.
      text += text === '' ? guard(piece.path, toArgument(piece.path, value)) : toArgument(piece.path, value)
    }
  }
  return [validateArgument(element.source, text)]
}

function omitOrThrow(path: string, scope: Scope): string[] {
  if (scope.optional) return []
  throw createArgumentError(path, 'is absent')
}

function readItems(path: string, scope: Scope): unknown[] {
  const list = lookUp(path, scope) ?? []
  if (!Array.isArray(list)) throw createArgumentError(path, 'is not an array')
  return list as unknown[]
}

function toArgument(path: string, value: unknown): string {
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw createArgumentError(path, 'is not a string, number or boolean')
  return validateArgument(path, toText(value))
}

function validateArgument(path: string, text: string): string {
  if (text.includes('\0')) throw createArgumentError(path, 'holds a NUL character')
  if (/\p{Surrogate}/u.test(text)) throw createArgumentError(path, 'holds half a surrogate pair')
  if (Buffer.byteLength(text) > MAX_ARGUMENT_BYTES)
    throw createArgumentError(path, `is longer than ${MAX_ARGUMENT_BYTES} bytes. Use stdin`)
  return text
}

function lookUp(path: string, { input, item }: Scope): unknown {
  const [head = '', ...rest] = path.split('.')
  let value: unknown = head === 'item' && item !== undefined ? item : readOwn(input, head)
  for (const name of rest) value = readOwn(value, name)
  return value
}

const readOwn = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined

function resolveSpecial(name: string, scope: Scope): string {
  if (name === 'workspace' || name === 'plugin_root' || name === 'plugin_data') return scope[name]
  return toArgument(name, readOwn(scope.options, name.slice('option.'.length)))
}

function findProperty(schema: Schema, path: string): Schema | undefined {
  let found: Schema | undefined = schema
  for (const name of path.split('.')) found = readOwn(found?.properties, name) as Schema | undefined
  return found?.items ? (found.items as Schema) : found
}

const isChoice = (schema: Schema, path: string): boolean => {
  const found = findProperty(schema, path)
  return found?.enum !== undefined || found?.const !== undefined
}

function requireDeclared(path: unknown, schema: Schema, inEach: boolean): string {
  if (typeof path === 'string' && ((inEach && path.split('.')[0] === 'item') || findProperty(schema, path))) return path
  throw createManifestError(`run refers to {${toText(path)}}, which the input does not declare.`)
}

const INTERPRETER = new RegExp(
  '^(sh|bash|dash|zsh|fish|ksh|cmd|powershell|pwsh' +
    '|python[\\d.]*|node|deno|bun|perl|ruby|php|awk|gawk|mawk|osascript)(\\.exe)?$',
)
const CODE_FLAG = /^(-[a-zA-Z]*[ce]|--eval|--command|-Command|\/c)$/

// Quoting cannot help here: the value would be code, not text.
function refuseCode(run: unknown[]): void {
  run.forEach((element, index) => {
    const source = JSON.stringify(element)
    const words = run.slice(0, index).filter((word) => typeof word === 'string')
    if (!/\{[^{]/.test(source.replaceAll('{{', '')) || !words.some((word) => INTERPRETER.test(word.split('/').at(-1)!)))
      return
    const before = words.at(-1)!
    const inside = typeof element === 'string' && /^(--eval|--command|-e|-c)/.test(element)
    if (CODE_FLAG.test(before) || inside)
      throw createManifestError(`The element ${source} of run puts a value into the code of an interpreter.`)
  })
}

const createManifestError = (message: string): VtError =>
  new VtError({
    code: 'VT_MANIFEST_INVALID',
    message,
    hint: 'Fix `run` of the manifest: put each value into an argument of its own.',
    retryable: false,
  })

const createElementError = (source: string): VtError => createManifestError(`${source} is not a valid element of run.`)

const createArgumentError = (name: string, what: string): VtError =>
  new VtError({
    code: 'VT_COMMAND_ARGUMENT',
    message: `The value of '${name}' ${what}.`,
    hint: 'Give another value; the program gets it as one argument, without a shell.',
    retryable: false,
    details: { field: name },
  })
