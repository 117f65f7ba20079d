import { toText } from '../../../core/text/index.js'
import { VtError, type JsonObject } from '../../../core/index.js'
import { parseReference, type Piece } from '../../lib/values/index.js'
import { createManifestError, type HttpSettings } from './settings.js'

/** A request made from the input, without its secrets. */
export interface ComposedRequest {
  method: string
  url: URL
  headers: Record<string, string>
  body?: string
}

/**
 * Builds the request of a manifest for one input. Scheme, host and port are literal. A value fills one path segment,
 * one query pair, one header or one place of the body, and is never parsed again. Throws VT_MANIFEST_INVALID,
 * VT_HTTP_ARGUMENT.
 */
export function composeRequest(
  { method, url, query, headers, body }: HttpSettings,
  input: Readonly<JsonObject>,
): ComposedRequest {
  const [, origin = '', path = ''] = /^(https?:\/\/[^/{}?#\s]+)(.*)$/s.exec(url) ?? []
  if (!origin) throw createManifestError(`http.url ${JSON.stringify(url)} must begin with a literal scheme and host.`)
  const target = new URL(origin + renderPath(path, input))
  if (target.origin !== new URL(origin).origin || target.username || target.hash)
    throw createManifestError(`http.url ${JSON.stringify(url)} must not hold a user name or a fragment.`)
  for (const [name, value] of Object.entries(query))
    for (const text of renderTemplate(value, `query.${name}`, input)) target.searchParams.append(name, text)
  const sent: Record<string, string> = {}
  for (const [name, value] of Object.entries(headers)) {
    const texts = renderTemplate(value, `headers.${name}`, input)
    if (texts.length > 0) sent[name.toLowerCase()] = texts.map((text) => requireHeaderText(name, text)).join(', ')
  }
  return { method, url: target, headers: sent, ...renderBody(body, sent, input) }
}

function renderPath(template: string, input: Readonly<JsonObject>): string {
  const query = template.indexOf('?')
  const [path, literal] = query < 0 ? [template, ''] : [template.slice(0, query), template.slice(query)]
  if (/[{}]/.test(literal))
    throw createManifestError('http.url holds a reference after the question mark; put it under `query`.')
  const text = parseReference(path, createReferenceError).map((piece) => {
    if (piece.kind === 'literal') return piece.text
    if (piece.kind === 'special') throw createManifestError(`http.url may not hold {$${piece.name}}.`)
    const value = readOwn(input, piece.path)
    if (piece.kind === 'value') return encodeSegment(piece.path, value)
    if (!Array.isArray(value)) throw createArgumentError(piece.path, 'is not an array')
    return value.map((item) => encodeSegment(piece.path, item)).join('/')
  })
  return text.join('') + literal
}

function encodeSegment(name: string, value: unknown): string {
  const text = toScalarText(name, value)
  if (text === '' || text === '.' || text === '..' || text.includes('/'))
    throw createArgumentError(name, `${JSON.stringify(text)} is not a single path segment`)
  return encodeURIComponent(text)
}

/**
 * Returns the texts of a template: none when a property is absent, several for a list. Values of other forms are
 * resolved elsewhere.
 */
function renderTemplate(template: unknown, field: string, input: Readonly<JsonObject>): string[] {
  if (typeof template !== 'string') return []
  const pieces = parseReference(template, createReferenceError)
  const [only] = pieces
  if (pieces.length === 1 && only!.kind !== 'literal') {
    const value = readPieceValue(only!, input)
    return value === undefined ? [] : [value].flat().map((item) => toScalarText(field, item))
  }
  const values = pieces.map((piece) => (piece.kind === 'literal' ? piece.text : readPieceValue(piece, input)))
  return values.includes(undefined) ? [] : [values.map((value) => toScalarText(field, value)).join('')]
}

function readPieceValue(piece: Piece, input: Readonly<JsonObject>): unknown {
  if (piece.kind === 'value' || piece.kind === 'spread') return readOwn(input, piece.path)
  throw createManifestError(`http may not hold {$${(piece as { name?: string }).name ?? ''}} here.`)
}

function renderBody(
  body: HttpSettings['body'],
  headers: Record<string, string>,
  input: Readonly<JsonObject>,
): { body?: string } {
  if (!body) return {}
  const setContentType = (type: string) => (headers['content-type'] ??= type)
  if ('json' in body) {
    setContentType('application/json')
    return { body: JSON.stringify(fillTemplate(body.json, input) ?? null) }
  }
  if ('text' in body) {
    setContentType('text/plain; charset=utf-8')
    return { body: renderTemplate(body.text, 'body.text', input)[0] ?? '' }
  }
  setContentType('application/x-www-form-urlencoded')
  const pairs = Object.entries(body.form).flatMap(([name, value]) =>
    renderTemplate(value, `body.form.${name}`, input).map((text): [string, string] => [name, text]),
  )
  return { body: new URLSearchParams(pairs).toString() }
}

/**
 * Fills a JSON template. A string that is exactly one reference becomes the value with its type; absent values are
 * dropped.
 */
function fillTemplate(template: unknown, input: Readonly<JsonObject>): unknown {
  if (typeof template === 'string') {
    const pieces = parseReference(template, createReferenceError)
    const [only] = pieces
    if (pieces.length === 1 && only!.kind !== 'literal') return readPieceValue(only!, input)
    return pieces.length === 0 ? '' : renderTemplate(template, 'body.json', input)[0]
  }
  if (typeof template !== 'object' || template === null) return template
  if (Array.isArray(template))
    return template.map((item) => fillTemplate(item, input)).filter((item) => item !== undefined)
  return Object.fromEntries(
    Object.entries(template)
      .map(([key, item]) => [key, fillTemplate(item, input)])
      .filter(([, item]) => item !== undefined),
  )
}

export function requireHeaderText(name: string, text: string): string {
  if (/[^\t\x20-\x7e\x80-\xff]/.test(text))
    throw createArgumentError(name, 'holds a control character or one beyond Latin-1; a header cannot hold it')
  return text
}

function readOwn(input: unknown, path: string): unknown {
  let value = input
  for (const name of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as JsonObject)[name]
        : undefined
  return value
}

function toScalarText(name: string, value: unknown): string {
  if (value === undefined) throw createArgumentError(name, 'is absent')
  if (!['string', 'number', 'boolean'].includes(typeof value))
    throw createArgumentError(name, 'is not a string, number or boolean')
  const text = toText(value)
  if (text.includes('\0') || /\p{Surrogate}/u.test(text))
    throw createArgumentError(name, 'holds a NUL character or half a surrogate pair')
  return text
}

const createReferenceError = (source: string): VtError =>
  createManifestError(`${JSON.stringify(source)} has a brace outside a reference; write {{ or }}.`)

const createArgumentError = (name: string, what: string): VtError =>
  new VtError({
    code: 'VT_HTTP_ARGUMENT',
    message: `The value of '${name}' ${what}.`,
    hint: 'Give another value.',
    retryable: false,
    details: { field: name },
  })
