import { isObject } from '../../../core/base/index.js'
import { VtError, type Contribution, type Fault, type JsonObject, type Schema } from '../../../core/index.js'
import { declaredIn, parseReference, undeclared, type Piece } from '../../lib/values/index.js'
import { httpSettings, isSafe, type HttpSettings } from './settings.js'

type Path = Fault['path']

/** What would go wrong in calls of a manifest with `http`, found by reading it. */
export function httpFaults(contribution: Contribution, input: Schema): Fault[] {
  let settings: HttpSettings
  try {
    settings = httpSettings(contribution)
  } catch (error) {
    const { message, problem } = error as VtError
    return [{ path: ['http', message.includes('network') ? 'network' : 'headers'], problem: message, fix: problem.hint }]
  }
  const reader = new Reader(input)
  reader.url(settings)
  reader.parts(settings.query, ['http', 'query'])
  reader.parts(settings.headers, ['http', 'headers'])
  if (settings.body) reader.parts(settings.body, ['http', 'body'])
  const { auth } = settings
  if (auth && ['header', 'query'].includes(auth.type) && auth.name === undefined) {
    reader.say(['http', 'auth'], `http.auth of type ${auth.type} needs a name.`, `Add \`name\`: the ${auth.type === 'header' ? 'header' : 'parameter'} that holds the secret.`)
  }
  return reader.faults
}

class Reader {
  readonly faults: Fault[] = []
  constructor(private readonly input: Schema) {}

  url(settings: HttpSettings): void {
    const { url } = settings
    const at = ['http', 'url']
    const [, origin, path = ''] = /^(https?:\/\/[^/{}?#\s]+)(.*)$/s.exec(url) ?? []
    if (origin === undefined || !URL.canParse(origin)) {
      return this.say(at, `http.url ${JSON.stringify(url)} does not begin with a literal scheme and host.`, 'Write the address out up to the first slash; values belong into the path and under `query`.')
    }
    const target = new URL(origin)
    if (target.username || path.includes('#')) this.say(at, `http.url ${JSON.stringify(url)} holds a user name or a fragment.`, 'Remove it; a password belongs under `auth`.')
    if (!isSafe(target, settings)) this.say(at, `${target.origin} is plain http, which everybody on the way can read.`, 'Write https, or allow it in a manifest of your own: `network: { http: true }`.')
    const mark = path.indexOf('?')
    const [way, query] = mark < 0 ? [path, ''] : [path.slice(0, mark), path.slice(mark + 1)]
    if (/[{}]/.test(query)) {
      const pairs = query.split('&').map((pair) => pair.split('=')).map(([name = '', ...value]) => `${name}: '${value.join('=')}'`)
      this.say(at, `http.url holds a reference behind the question mark: ?${query}`, `End the address before the question mark, and write \`query: { ${pairs.join(', ')} }\` beside it.`)
    }
    for (const piece of this.pieces(way, at)) {
      if (piece.kind === 'literal') continue
      const found = this.declared(piece, at)
      if (!found || piece.kind === 'special') continue
      const { path: name } = piece
      if (!found.always) this.say(at, `{${name}} is optional, and the path of an address needs it.`, `Add '${name}' to \`input.required\`, give it a default, or move it to \`query\`, which leaves out what is absent.`)
      else if (found.type === 'object') this.say(at, `{${name}} is an object, and no part of an address.`, 'Name one of its properties, or send it in the body.')
      else if ((piece.kind === 'spread') !== (found.type === 'list') && found.type !== 'unknown') {
        this.say(at, `{${name}} is ${found.type === 'list' ? 'a list' : 'not a list'}.`, `Write '{${name}${piece.kind === 'spread' ? '' : '...'}}'.`)
      }
    }
  }

  private declared(piece: Exclude<Piece, { kind: 'literal' }>, path: Path) {
    if (piece.kind === 'special') return void this.say(path, `${path.join('.')} may not hold {$${piece.name}}.`, 'Write what it stands for, or give the input a property for it.')
    const found = declaredIn(this.input, piece.path)
    if (!found) this.faults.push(undeclared(path, piece.path, this.input, path.join('.')))
    return found
  }

  /** Templates anywhere in a part of the request: what is absent is left out, what is undeclared would always be. */
  parts(value: unknown, path: Path): void {
    if (typeof value === 'string') {
      const pieces = this.pieces(value, path)
      // In JSON a reference that stands alone is the value as it is; anywhere else a list is several texts, and only alone.
      const [alone, isJson] = [pieces.length === 1, path[1] === 'body' && path[2] === 'json']
      for (const piece of pieces) {
        if (piece.kind === 'literal') continue
        const found = this.declared(piece, path)
        if (!found || (alone && (isJson || found.type === 'list'))) continue
        if (found.type !== 'object' && found.type !== 'list') continue
        this.say(path, `${JSON.stringify(value)} of ${path.join('.')} is text, and holds ${found.type === 'list' ? 'a list' : 'an object'}.`, 'Name one of its properties, or send it as `body: { json: … }`.')
      }
    } else if (Array.isArray(value)) value.forEach((one, at) => this.parts(one, [...path, at]))
    else if (isObject(value)) this.map(value, path)
  }

  private map(value: JsonObject, path: Path): void {
    const [key] = Object.keys(value)
    const isReference = Object.keys(value).length === 1 && ['env', 'file', 'command', 'keychain', 'secret', 'option'].includes(key!) && path[1] !== 'body'
    if (isReference) return
    if (Object.keys(value).join() === 'input' && typeof value['input'] === 'string' && path[1] !== 'body') {
      if (!declaredIn(this.input, value['input'])) this.faults.push(undeclared(path, value['input'], this.input, path.join('.')))
      return
    }
    for (const [name, one] of Object.entries(value)) this.parts(one, [...path, name])
  }

  private pieces(source: string, path: Path): Piece[] {
    try {
      return parseReference(source, (part) => new Error(part))
    } catch (error) {
      this.say(path, `${JSON.stringify((error as Error).message)} has a brace that is no reference.`, 'Write {{ or }} for a brace.')
      return []
    }
  }

  say(path: Path, problem: string, fix: string): void {
    this.faults.push({ path, problem, fix })
  }
}
