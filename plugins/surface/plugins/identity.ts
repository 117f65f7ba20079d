import { join } from 'node:path'
import { visibleLine } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Io } from '../../../core/index.js'
import type { Installed, PluginSource } from '../../../core/trust/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import type { Fetched } from './source.js'
import { UserError } from './user_error.js'

export const nameRule = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const reserved = /^(?:builtin|admin|user|workspace|call|root.*)$/
const factFiles = [
  'plugin.json',
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
  'manifest.json',
  'package.json',
]

/** The name that a plugin is known by; where what it calls itself can be none, that is told. */
export function pluginNameOf({ root, name }: Fetched, wanted: string | undefined, io: Io): string {
  const { name: claimed, unusable } = claimsOf(root)
  const chosen = wanted ?? claimed ?? plain(name)
  if (!nameRule.test(chosen) || reserved.test(chosen))
    throw new UserError(
      `'${chosen}' can be no plugin's name: lower-case letters, digits, and between them single hyphens or dots; say another with --name`,
    )
  if (wanted === undefined && unusable !== undefined)
    say(io, 'warning', `It calls itself '${toOneLine(unusable)}', which can be no plugin's name. Here it is ${chosen}.`)
  return chosen
}

/** What the package says of itself, the first file that says it in a way that can be used. */
export function claimsOf(root: string): { name?: string; unusable?: string; version?: string } {
  const said = factFiles.flatMap((file) => {
    try {
      return [
        JSON.parse(
          readBytes(join(root, file))
            .toString()
            .replace(/^\ufeff/, ''),
        ) as { name?: unknown; version?: unknown },
      ]
    } catch {
      // Not there, or not for us to read: the next one.
      return []
    }
  })
  const names = said.flatMap((one) => (typeof one.name === 'string' ? [one.name] : []))
  const name = names.map(plain).find((one) => nameRule.test(one))
  const version = said.map((one) => one.version).find((one) => typeof one === 'string')
  const called = name !== undefined ? { name } : names[0] !== undefined ? { unusable: names[0] } : {}
  return { ...called, ...(version !== undefined && { version }) }
}

/** A name of theirs as one of ours; what is a path is none. */
function plain(name: string): string {
  const short = name.replace(/^@([\w.-]+)\/(?=[\w.-]+$)/, '$1-')
  return /[/\\]|\.\./.test(short)
    ? ''
    : short
        .toLowerCase()
        .replace(/[^a-z0-9.-]+/g, '-')
        .replace(/-{2,}/g, '-')
        .replace(/^[.-]+|[.-]+$/g, '')
}

const placeOf = ({ url, path = '' }: PluginSource): string => url ?? path

/** What takes the place of what, for who is asked. */
export function turn(
  { version: was = 'no version', source }: Installed,
  now: { version: string | undefined; source: PluginSource },
  backwards: boolean,
): string {
  const other =
    source.type === now.source.type && placeOf(source) === placeOf(now.source)
      ? ''
      : `, from ${placeOf(now.source)} instead of ${placeOf(source)}`
  return `${visibleLine(`Version ${now.version ?? 'unknown'} takes the place of ${was}${other}${backwards ? '; it is OLDER' : ''}.`)}\n`
}

/** Numbers by their value; what no numbers tell apart is not older. */
export function isOlder(now: string | undefined, was: string | undefined): boolean {
  const numbers = (version: string): number[] =>
    version
      .replace(/[-+].*$/, '')
      .split('.')
      .map(Number)
  if (now === undefined || was === undefined) return false
  const [a, b] = [numbers(now), numbers(was)]
  const at = b.findIndex((number, index) => number !== (a[index] ?? 0))
  return at >= 0 && (a[at] ?? 0) < b[at]!
}
