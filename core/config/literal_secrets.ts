import { isObject } from '../shapes/index.js'
import { keepSecret, looksSecret } from '../text/index.js'

/** What stands for a literal secret where settings are shown. */
const mark = '[redacted]'
// A reference to a variable is none; neither is the name of one, but in the maps that hold values only.
const isLiteral = (text: string, map?: string): boolean =>
  text !== '' && !/^\$\{[^}]*\}$/.test(text) && (map === 'headers' || map === 'auth' || !/^[A-Z][A-Z0-9_]*$/.test(text))
const secretMembers = new Set([
  'value',
  'password',
  'client_secret',
  'token',
  'api_key',
  'apikey',
  'secret',
  'access_token',
  'refresh_token',
])
// Every server may be sent these, so they tell nobody anything.
const harmless =
  /^(?:accept(?:-.*)?|cache-control|content-type|connection|host|origin|pragma|referer|user-agent|.*-version|.*-beta)$/i

/** Whether the texts of a map are secret, or one member of it, by the name of the map and of the member. */
function isSecret(map: string | undefined, member: string): boolean {
  if (map === 'headers') return !harmless.test(member)
  if (map === 'auth') return secretMembers.has(member.toLowerCase())
  return looksSecret(member) && !/(?:_env|env_key|^key)$/i.test(member)
}

/** An address without what is secret in it: user, password and the values of its query. */
function plainAddress(text: string): string {
  if (!/^[a-z][\w+.-]*:\/\/\S*[?@]/i.test(text) || !URL.canParse(text)) return text
  const plainPair = (pair: string): string =>
    pair.includes('=') && !/=\$\{[^}]*\}$/.test(pair) ? `${pair.slice(0, pair.indexOf('='))}=${mark}` : pair
  const anonymous = text.replace(/^([a-z][\w+.-]*:\/\/)[^/?#]*@/i, `$1${mark}@`)
  return anonymous.replace(
    /(\?)([^#]*)/,
    (_, sign: string, query: string) => sign + query.split('&').map(plainPair).join('&'),
  )
}

/** The same settings with a mark for every key, header and query that stands in them literally. `path` is where the value stands. */
export function withoutLiterals(value: unknown, path: readonly string[] = []): unknown {
  const [map, member] = path.slice(-2).length === 2 ? path.slice(-2) : [undefined, path.at(-1)]
  if (typeof value === 'string')
    return member !== undefined && isSecret(map, member) && isLiteral(value, map) ? mark : plainAddress(value)
  if (Array.isArray(value)) return value.map((item) => withoutLiterals(item, path))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, withoutLiterals(item, [...path, name])]))
}

/** Makes the literal secrets of the settings known to the redactor, so that no error, event or record repeats them. */
export function keepLiterals(value: unknown, path: readonly string[] = []): void {
  if (Array.isArray(value)) return value.forEach((item) => keepLiterals(item, path))
  if (isObject(value)) return Object.entries(value).forEach(([name, item]) => keepLiterals(item, [...path, name]))
  if (typeof value !== 'string') return
  const [map, member = ''] = path.slice(-2)
  const name = path.join('.')
  if (path.length > 1 && isSecret(map, member) && isLiteral(value, map))
    keep(value, name, looksSecret(member) || map === 'auth')
  for (const part of partsOfAddress(value)) keep(part, name, false)
}

/** A value that could be an ordinary word is not put down everywhere: texts would lose the word. */
function keep(text: string, name: string, sure: boolean): void {
  const [, scheme, rest] = /^(Bearer|Basic|Token)\s+(\S+)$/i.exec(text) ?? []
  if (scheme !== undefined) return keep(rest!, name, true)
  if (sure ? text.length >= 6 : text.length >= 16 || (text.length >= 8 && /\d/.test(text))) keepSecret(text, name)
}

function partsOfAddress(text: string): string[] {
  if (plainAddress(text) === text) return []
  const { searchParams, username, password } = new URL(text)
  const raw =
    /\?([^#]*)/
      .exec(text)?.[1]
      ?.split('&')
      .map((pair) => pair.slice(pair.indexOf('=') + 1)) ?? []
  return [...searchParams.values(), ...raw, username, password].filter((part) => isLiteral(part))
}
