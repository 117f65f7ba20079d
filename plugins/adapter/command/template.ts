import { toText } from '../../../core/text/index.js'
import { VtError, type JsonObject, type Schema } from '../../../core/index.js'
import { parseReference, type Piece } from '../../lib/values/index.js'

/** One element of `run`, checked. */
type Element =
  | { kind: 'text'; source: string; pieces: Piece[] }
  | { kind: 'if'; path: string; then: Element[]; otherwise: Element[] }
  | { kind: 'each'; path: string; args: Element[] }
  | { kind: 'json'; path: string }

/** An argv template: no shell, ever, and one element never becomes two arguments except for `{a...}` and `each`. */
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
  /** Inside an `if` an absent value leaves its element out. */
  optional?: boolean
}

const maxArgument = 128 * 1024
const maxTotal = 1024 * 1024

/** Reads `run` once. Throws VT_MANIFEST_INVALID; `render` throws VT_COMMAND_ARGUMENT. */
export function parseTemplate(run: readonly unknown[], schema: Schema, allowDash: readonly string[]): ArgvTemplate {
  const [first, ...rest] = run
  if (typeof first !== 'string' || parseReference(first, refuseElement).some((piece) => piece.kind !== 'literal')) {
    throw invalid('The first element of run is the program and holds no references.')
  }
  const elements = rest.map((element) => parseElement(element, schema, false))
  refuseCode([first, ...rest])
  return {
    program: parseReference(first, refuseElement)
      .map((piece) => (piece.kind === 'literal' ? piece.text : ''))
      .join(''),
    render: (values) => {
      let guarded = false
      const argv = elements.flatMap((element) => {
        const args = renderElement(element, values, (name, text) => {
          if (guarded || !text.startsWith('-') || allowDash.includes(name) || isChoice(schema, name)) return text
          if (property(schema, name)?.format === 'workspace-path') return `./${text}`
          throw argument(name, `begins with '-' and could be taken for an option: ${JSON.stringify(text.slice(0, 80))}`)
        })
        if (element.kind === 'text' && element.source === '--') guarded = true
        return args
      })
      const total = argv.reduce((sum, arg) => sum + Buffer.byteLength(arg) + 1, 0)
      if (total > maxTotal)
        throw argument('run', `is ${total} bytes of arguments; at most ${maxTotal} are passed. Use stdin`)
      return argv
    },
  }
}

function parseElement(element: unknown, schema: Schema, inEach: boolean): Element {
  const known = (path: string): string => declared(path, schema, inEach)
  const inner = (list: unknown, each: boolean): Element[] => {
    if (!Array.isArray(list)) throw refuseElement(JSON.stringify(element))
    return list.map((one) => parseElement(one, schema, each))
  }
  if (typeof element === 'string') {
    const pieces = parseReference(element, refuseElement)
    for (const piece of pieces) if (piece.kind === 'value' || piece.kind === 'spread') known(piece.path)
    if (pieces.some((piece) => piece.kind === 'spread') && pieces.length > 1) throw refuseElement(element)
    return { kind: 'text', source: element, pieces }
  }
  const keys = element !== null && typeof element === 'object' ? Object.keys(element).sort().join() : ''
  const parts = element as { if: string; then: unknown; else?: unknown; each: string; args: unknown; json: string }
  if (keys === 'if,then' || keys === 'else,if,then') {
    return {
      kind: 'if',
      path: known(parts.if),
      then: inner(parts.then, inEach),
      otherwise: inner(parts.else ?? [], inEach),
    }
  }
  if (keys === 'args,each') return { kind: 'each', path: known(parts.each), args: inner(parts.args, true) }
  if (keys === 'json') return { kind: 'json', path: known(parts.json) }
  throw refuseElement(JSON.stringify(element))
}

type Guard = (name: string, text: string) => string

function renderElement(element: Element, scope: Scope, guard: Guard): string[] {
  if (element.kind === 'json') {
    const value = lookUp(element.path, scope)
    if (value === undefined) return absent(element.path, scope)
    return [checked(element.path, JSON.stringify(value))]
  }
  if (element.kind === 'if') {
    const value = lookUp(element.path, scope)
    const chosen = value === undefined || value === false ? element.otherwise : element.then
    return chosen.flatMap((inner) => renderElement(inner, { ...scope, optional: true }, guard))
  }
  if (element.kind === 'each') {
    return items(element.path, scope).flatMap((item) =>
      element.args.flatMap((inner) => renderElement(inner, { ...scope, item }, guard)),
    )
  }
  const [only] = element.pieces
  if (only?.kind === 'spread') return items(only.path, scope).map((item) => guard(only.path, scalar(only.path, item)))
  let text = ''
  for (const piece of element.pieces) {
    if (piece.kind === 'literal') text += piece.text
    else if (piece.kind === 'special') text += special(piece.name, scope)
    else {
      const value = lookUp(piece.path, scope)
      if (value === undefined) return absent(piece.path, scope)
      // Only what stands first can turn an argument into an option.
      text += text === '' ? guard(piece.path, scalar(piece.path, value)) : scalar(piece.path, value)
    }
  }
  return [checked(element.source, text)]
}

function absent(path: string, scope: Scope): string[] {
  if (scope.optional) return []
  throw argument(path, 'is absent')
}

function items(path: string, scope: Scope): unknown[] {
  const list = lookUp(path, scope) ?? []
  if (!Array.isArray(list)) throw argument(path, 'is not an array')
  return list as unknown[]
}

function scalar(path: string, value: unknown): string {
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw argument(path, 'is not a string, number or boolean')
  return checked(path, toText(value))
}

function checked(path: string, text: string): string {
  if (text.includes('\0')) throw argument(path, 'holds a NUL character')
  if (/\p{Surrogate}/u.test(text)) throw argument(path, 'holds half a surrogate pair')
  if (Buffer.byteLength(text) > maxArgument) throw argument(path, `is longer than ${maxArgument} bytes. Use stdin`)
  return text
}

function lookUp(path: string, { input, item }: Scope): unknown {
  const [head = '', ...rest] = path.split('.')
  let value: unknown = head === 'item' && item !== undefined ? item : own(input, head)
  for (const name of rest) value = own(value, name)
  return value
}

const own = (value: unknown, name: string): unknown =>
  value !== null && typeof value === 'object' && Object.hasOwn(value, name) ? (value as JsonObject)[name] : undefined

function special(name: string, scope: Scope): string {
  if (name === 'workspace' || name === 'plugin_root' || name === 'plugin_data') return scope[name]
  return scalar(name, own(scope.options, name.slice('option.'.length)))
}

function property(schema: Schema, path: string): Schema | undefined {
  let found: Schema | undefined = schema
  for (const name of path.split('.')) found = own(found?.properties, name) as Schema | undefined
  return found?.items ? (found.items as Schema) : found
}

const isChoice = (schema: Schema, path: string): boolean => {
  const found = property(schema, path)
  return found?.enum !== undefined || found?.const !== undefined
}

function declared(path: unknown, schema: Schema, inEach: boolean): string {
  if (typeof path === 'string' && ((inEach && path.split('.')[0] === 'item') || property(schema, path))) return path
  throw invalid(`run refers to {${toText(path)}}, which the input does not declare.`)
}

const interpreter =
  /^(sh|bash|dash|zsh|fish|ksh|cmd|powershell|pwsh|python[\d.]*|node|deno|bun|perl|ruby|php|awk|gawk|mawk|osascript)(\.exe)?$/
const codeFlag = /^(-[a-zA-Z]*[ce]|--eval|--command|-Command|\/c)$/

// A value there would be a program: quoting cannot help, since it is code and not text.
function refuseCode(run: unknown[]): void {
  run.forEach((element, index) => {
    const source = JSON.stringify(element)
    const words = run.slice(0, index).filter((word) => typeof word === 'string')
    if (!/\{[^{]/.test(source.replaceAll('{{', '')) || !words.some((word) => interpreter.test(word.split('/').at(-1)!)))
      return
    const before = words.at(-1)!
    const inside = typeof element === 'string' && /^(--eval|--command|-e|-c)/.test(element)
    if (codeFlag.test(before) || inside)
      throw invalid(`The element ${source} of run would put a value into the code of an interpreter.`)
  })
}

const invalid = (message: string): VtError =>
  new VtError({
    code: 'VT_MANIFEST_INVALID',
    message,
    hint: 'Fix `run` of the manifest; values belong into single arguments.',
    retryable: false,
  })

const refuseElement = (source: string): VtError => invalid(`${source} is not an element of run.`)

const argument = (name: string, what: string): VtError =>
  new VtError({
    code: 'VT_COMMAND_ARGUMENT',
    message: `The value of '${name}' ${what}.`,
    hint: 'Give another value; it is passed as one argument and never read by a shell.',
    retryable: false,
    details: { field: name },
  })
