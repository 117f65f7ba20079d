import { isObject } from '../shapes/index.js'
import { redactUserInfo, registerSecret, isSecretName } from '../text/index.js'

/** Replacement of a literal secret in displayed settings. */
const MARK = '[redacted]'
// A reference to a variable is no secret. A text in capitals is a variable's name, except in `headers` and `auth`.
const isLiteral = (text: string, mapName?: string): boolean =>
  text !== '' &&
  !/^\$\{[^}]*\}$/.test(text) &&
  (mapName === 'headers' || mapName === 'auth' || !/^[A-Z][A-Z0-9_]*$/.test(text))
const SECRET_MEMBERS = new Set([
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
// Headers that every server may get; they contain no secret.
const PUBLIC_HEADERS_PATTERN =
  /^(?:accept(?:-.*)?|cache-control|content-type|connection|host|origin|pragma|referer|user-agent|.*-version|.*-beta)$/i

/** Returns whether the member of a map is secret, by the names of the map and the member. */
function isSecret(mapName: string | undefined, memberName: string): boolean {
  if (mapName === 'headers') return !PUBLIC_HEADERS_PATTERN.test(memberName)
  if (mapName === 'auth') return SECRET_MEMBERS.has(memberName.toLowerCase())
  return isSecretName(memberName) && !/(?:_env|env_key|^key)$/i.test(memberName)
}

/** Redacts an address: user, password and the values of its query. */
function redactAddress(text: string): string {
  if (!/^[a-z][\w+.-]*:\/\/\S*[?@]/i.test(text) || !URL.canParse(text)) return text
  const redactPair = (pair: string): string =>
    pair.includes('=') && !/=\$\{[^}]*\}$/.test(pair) ? `${pair.slice(0, pair.indexOf('='))}=${MARK}` : pair
  return redactUserInfo(text).replace(
    /(\?)([^#]*)/,
    (_, sign: string, query: string) => sign + query.split('&').map(redactPair).join('&'),
  )
}

/**
 * Returns the settings with literal API keys and secret headers redacted. In addresses, the user, the password and the
 * query values are redacted. `path` is the position of the value.
 */
export function redactLiterals(value: unknown, path: readonly string[] = []): unknown {
  const [mapName, memberName] = [path.at(-2), path.at(-1)]
  if (typeof value === 'string')
    return memberName !== undefined && isSecret(mapName, memberName) && isLiteral(value, mapName)
      ? MARK
      : redactAddress(value)
  if (Array.isArray(value)) return value.map((item) => redactLiterals(item, path))
  if (!isObject(value)) return value
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, redactLiterals(item, [...path, name])]))
}

/** Registers the literal secrets of the settings, so that no error, event or record repeats them. */
export function registerLiterals(value: unknown, path: readonly string[] = []): void {
  if (Array.isArray(value)) return value.forEach((item) => registerLiterals(item, path))
  if (isObject(value)) return Object.entries(value).forEach(([name, item]) => registerLiterals(item, [...path, name]))
  if (typeof value !== 'string') return
  const [mapName, memberName = ''] = [path.at(-2), path.at(-1)]
  const name = path.join('.')
  if (path.length > 1 && isSecret(mapName, memberName) && isLiteral(value, mapName))
    registerValue(value, name, isSecretName(memberName) || mapName === 'auth')
  for (const part of listAddressSecrets(value)) registerValue(part, name, false)
}

/** Registers a value unless it could be an ordinary word, which would then be redacted everywhere. */
function registerValue(text: string, name: string, nameIsSecret: boolean): void {
  const [, scheme, rest] = /^(Bearer|Basic|Token)\s+(\S+)$/i.exec(text) ?? []
  if (scheme !== undefined) return registerValue(rest!, name, true)
  if (nameIsSecret ? text.length >= 6 : text.length >= 16 || (text.length >= 8 && /\d/.test(text)))
    registerSecret(text, name)
}

function listAddressSecrets(text: string): string[] {
  if (redactAddress(text) === text) return []
  const { searchParams, username, password } = new URL(text)
  const raw =
    /\?([^#]*)/
      .exec(text)?.[1]
      ?.split('&')
      .map((pair) => pair.slice(pair.indexOf('=') + 1)) ?? []
  return [...searchParams.values(), ...raw, username, password].filter((part) => isLiteral(part))
}
