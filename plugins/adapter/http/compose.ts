import { toText } from '../../../core/text/index.js'
import { VtError, type JsonObject } from '../../../core/index.js'
import { parseReference, type Piece } from '../../lib/values/index.js'
import { invalidHttp, type HttpSettings } from './settings.js'

/** The request as the values make it, without what is secret. */
export interface Composed {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string
}

/**
 * The request of a manifest for one input, pure. Scheme, host and port are literal; a value is one segment of the path, one pair of the
 * query, one header, one place of the body, and is never read again. Throws VT_MANIFEST_INVALID, VT_HTTP_ARGUMENT.
 */
export function compose({ method, url, query, headers, body }: HttpSettings, input: Readonly<JsonObject>): Composed {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/{}?#\s]+)(.*)$/s.exec(url) ?? []
  if (!origin) throw invalidHttp(`http.url ${JSON.stringify(url)} does not begin with a literal scheme and host.`)
  const target = new URL(origin + pathOf(path, input))
  if (target.origin !== new URL(origin).origin || target.username || target.hash)
    throw invalidHttp(`http.url ${JSON.stringify(url)} holds a user name or a fragment.`)
  for (const [name, value] of Object.entries(query))
    for (const text of templateTexts(value, `query.${name}`, input)) target.searchParams.append(name, text)
  const sent: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const texts = templateTexts(value, `headers.${name}`, input)
    if (texts.length > 0) sent[name.toLowerCase()] = texts.map((text) => headerText(name, text)).join(', ')
  }
  return { method, url: target, headers: sent, ...bodyOf(body, sent, input) }
}

function pathOf(template: string, input: Readonly<JsonObject>): string {
  const query = template.indexOf('?')
  const [path, literal] = query < 0 ? [template, ''] : [template.slice(0, query), template.slice(query)]
  if (/[{}]/.test(literal))
    throw invalidHttp('http.url holds a reference behind the question mark; write it under `query`.')
  const text = parseReference(path, refuse).map((piece) => {
    if (piece.kind === 'literal') return piece.text
    if (piece.kind === 'special') throw invalidHttp(`http.url may not hold {$${piece.name}}.`)
    const value = own(input, piece.path)
    if (piece.kind === 'value') return segment(piece.path, value)
    if (!Array.isArray(value)) throw argument(piece.path, 'is not an array')
    return value.map((item) => segment(piece.path, item)).join('/')
  })
  return text.join('') + literal
}

function segment(name: string, value: unknown): string {
  const text = scalar(name, value)
  if (text === '' || text === '.' || text === '..' || text.includes('/'))
    throw argument(name, `${JSON.stringify(text)} is no single segment of a path`)
  return encodeURIComponent(text)
}

/** The texts a template stands for: none when a property of it is absent, several for a list. Values of other forms are resolved elsewhere. */
function templateTexts(template: unknown, field: string, input: Readonly<JsonObject>): string[] {
  if (typeof template !== 'string') return []
  const pieces = parseReference(template, refuse)
  const [only] = pieces
  if (pieces.length === 1 && only!.kind !== 'literal') {
    const value = valueOf(only!, input)
    return value === undefined ? [] : [value].flat().map((item) => scalar(field, item))
  }
  const values = pieces.map((piece) => (piece.kind === 'literal' ? piece.text : valueOf(piece, input)))
  return values.includes(undefined) ? [] : [values.map((value) => scalar(field, value)).join('')]
}

function valueOf(piece: Piece, input: Readonly<JsonObject>): unknown {
  if (piece.kind === 'value' || piece.kind === 'spread') return own(input, piece.path)
  throw invalidHttp(`http may not hold {$${(piece as { name?: string }).name ?? ''}} here.`)
}

function bodyOf(
  body: HttpSettings['body'],
  headers: Record<string, string>,
  input: Readonly<JsonObject>,
): { body?: string } {
  if (!body) return {}
  const typed = (type: string) => (headers['content-type'] ??= type)
  if ('json' in body) {
    typed('application/json')
    return { body: JSON.stringify(filled(body.json, input) ?? null) }
  }
  if ('text' in body) {
    typed('text/plain; charset=utf-8')
    return { body: templateTexts(body.text, 'body.text', input)[0] ?? '' }
  }
  typed('application/x-www-form-urlencoded')
  const pairs = Object.entries(body.form).flatMap(([name, value]) =>
    templateTexts(value, `body.form.${name}`, input).map((text): [string, string] => [name, text]),
  )
  return { body: new URLSearchParams(pairs).toString() }
}

/** JSON made of values: a string that is exactly one reference becomes the value with its type, what is absent vanishes. */
function filled(template: unknown, input: Readonly<JsonObject>): unknown {
  if (typeof template === 'string') {
    const pieces = parseReference(template, refuse)
    const [only] = pieces
    if (pieces.length === 1 && only!.kind !== 'literal') return valueOf(only!, input)
    return pieces.length === 0 ? '' : templateTexts(template, 'body.json', input)[0]
  }
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template)) return template.map((item) => filled(item, input)).filter((item) => item !== undefined)
  return Object.fromEntries(
    Object.entries(template)
      .map(([key, item]) => [key, filled(item, input)])
      .filter(([, item]) => item !== undefined),
  )
}

export function headerText(name: string, text: string): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw argument(name, 'holds a control character or one beyond Latin-1, which no header can')
  return text
}

function own(input: unknown, path: string): unknown {
  let value = input
  for (const name of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as JsonObject)[name]
        : undefined
  return value
}

function scalar(name: string, value: unknown): string {
  if (value === undefined) throw argument(name, 'is absent')
  if (!['string', 'number', 'boolean'].includes(typeof value)) throw argument(name, 'is not a text, number or boolean')
  const text = toText(value)
  if (text.includes('\0') || /\p{Surrogate}/u.test(text))
    throw argument(name, 'holds a NUL character or half a surrogate pair')
  return text
}

const refuse = (source: string): VtError =>
  invalidHttp(`${JSON.stringify(source)} has a brace that is no reference; write {{ or }}.`)

const argument = (name: string, what: string): VtError =>
  new VtError({
    code: 'VT_HTTP_ARGUMENT',
    message: `The value of '${name}' ${what}.`,
    hint: 'Give another value.',
    retryable: false,
    details: { field: name },
  })
