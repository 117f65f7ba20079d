import { join } from 'node:path'
import { visibleLine } from '../../../core/text/index.js'
import { readBytes } from '../../../core/documents/index.js'
import type { Io } from '../../../core/index.js'
import type { Installed, PluginSource } from '../../../core/trust/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import type { FetchedSource } from './fetched_source.js'
import { UserError } from './user_error.js'

export const PLUGIN_NAME = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const RESERVED_NAME = /^(?:builtin|admin|user|workspace|call|root.*)$/
const FACT_FILES = [
  'plugin.json',
  '.claude-plugin/plugin.json',
  '.codex-plugin/plugin.json',
  'gemini-extension.json',
  'manifest.json',
  'package.json',
]

/** Chooses the name of a plugin. Warns where its own name is invalid. */
export function choosePluginName({ root, name }: FetchedSource, givenName: string | undefined, io: Io): string {
  const { name: claimed, unusable } = readPackageFacts(root)
  const chosen = givenName ?? claimed ?? toPluginName(name)
  if (!PLUGIN_NAME.test(chosen) || RESERVED_NAME.test(chosen))
    throw new UserError(
      `'${chosen}' is no valid plugin name: use lower-case letters, digits, and single hyphens or dots between ` +
        'them; choose another with --name',
    )
  if (givenName === undefined && unusable !== undefined)
    say(
      io,
      'warning',
      `The plugin calls itself '${toOneLine(unusable)}', which is no valid plugin name. Its name here is ${chosen}.`,
    )
  return chosen
}

/** Reads name and version of a package, each from the first file with a valid value. */
export function readPackageFacts(root: string): { name?: string; unusable?: string; version?: string } {
  const documents = FACT_FILES.flatMap((file) => {
    try {
      return [
        JSON.parse(
          readBytes(join(root, file))
            .toString()
            .replace(/^\ufeff/, ''),
        ) as { name?: unknown; version?: unknown },
      ]
    } catch {
      // The file is missing or unreadable: try the next one.
      return []
    }
  })
  const names = documents.flatMap((one) => (typeof one.name === 'string' ? [one.name] : []))
  const name = names.map(toPluginName).find((one) => PLUGIN_NAME.test(one))
  const version = documents.map((one) => one.version).find((one) => typeof one === 'string')
  const claim = name !== undefined ? { name } : names[0] !== undefined ? { unusable: names[0] } : {}
  return { ...claim, ...(version !== undefined && { version }) }
}

/** Converts a package name to a plugin name; empty for a path. */
function toPluginName(name: string): string {
  const short = name.replace(/^@([\w.-]+)\/(?=[\w.-]+$)/, '$1-')
  return /[/\\]|\.\./.test(short)
    ? ''
    : short
        .toLowerCase()
        .replace(/[^a-z0-9.-]+/g, '-')
        .replace(/-{2,}/g, '-')
        .replace(/^[.-]+|[.-]+$/g, '')
}

const toLocation = ({ url, path = '' }: PluginSource): string => url ?? path

/** Describes which version and source replace the installed ones, for the consent question. */
export function describeReplacement(
  { version: oldVersion = 'no version', source }: Installed,
  now: { version: string | undefined; source: PluginSource },
  backwards: boolean,
): string {
  const sourceChange =
    source.type === now.source.type && toLocation(source) === toLocation(now.source)
      ? ''
      : `, from ${toLocation(now.source)} instead of ${toLocation(source)}`
  const warning = backwards ? '; it is OLDER' : ''
  return `${visibleLine(`Version ${now.version ?? 'unknown'} replaces ${oldVersion}${sourceChange}${warning}.`)}\n`
}

/** Checks whether a version is older. Compares numbers; versions with equal numbers are not older. */
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
