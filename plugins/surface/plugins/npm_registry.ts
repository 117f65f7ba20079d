import { definedOnly, isObject } from '../../../core/shapes/index.js'
import type { PluginSource } from '../../../core/trust/index.js'
import type { IndexedPlugin } from './offer.js'
import { npm } from './packages.js'
import { webText } from './source.js'
import type { Starting } from './started.js'
import { UserError } from './user_error.js'

const keyword = 'vtcode-plugin'
const mostFound = 100
const mostAttested = 4 * 1_048_576

/** Plugins of an npm registry by their keyword; of an index `@scope` those of the scope. */
export async function npmOffers(index: string, words: readonly string[], starting: Starting): Promise<IndexedPlugin[]> {
  const scope = index.replace(/^npm:?/, '')
  const ours = words.map((word) => word.replace(/[^\w@/.-]+/g, ' ').trim()).filter(Boolean)
  const query = [`keywords:${keyword}`, ...(scope === '' ? [] : [`scope:${scope.slice(1)}`]), ...ours].join(' ')
  const printed = await npm(
    ['search', query, '--json', `--searchlimit=${mostFound}`, ...(await registryOf(scope, starting))],
    starting,
    (_, text) => text,
  )
  const found = parsed(printed)
  if (!Array.isArray(found)) throw new UserError('npm does not say what it found')
  return (found as unknown[]).filter(isObject).flatMap((one) => {
    const { name, version, description, keywords, license, publisher, links } = one
    if (
      typeof name !== 'string' ||
      typeof version !== 'string' ||
      !/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/.test(name)
    )
      return []
    if (!Array.isArray(keywords) || !keywords.includes(keyword) || (scope !== '' && !name.startsWith(`${scope}/`)))
      return []
    const author = isObject(publisher) ? publisher['username'] : undefined
    const homepage = isObject(links) ? (links['homepage'] ?? links['npm']) : undefined
    const facts = Object.fromEntries(
      Object.entries({ description, author, homepage, license }).filter(([, value]) => typeof value === 'string'),
    )
    return [
      {
        name,
        index,
        version,
        ...facts,
        keywords: (keywords as unknown[]).filter((word): word is string => typeof word === 'string'),
        pinned: { address: `npm:${name}@${version}` },
      },
    ]
  })
}

/** A search asks the registry of no scope unless it is told. */
async function registryOf(scope: string, starting: Starting): Promise<string[]> {
  if (scope === '') return []
  const registry = (await npm(['config', 'get', `${scope}:registry`], starting, (_, text) => text)).trim()
  return /^https?:\/\//.test(registry) ? [`--registry=${registry}`] : []
}

/** The attested source and builder of a package. Foreign text. */
export interface Provenance {
  repository: string
  commit?: string
  builder?: string
  /** Does it speak of the bytes that came? Its signature is checked by `npm audit signatures`, not here. */
  same_bytes: boolean
}

/** The attestation of a package; a sentence where it cannot be read. */
export async function provenanceOf(
  { type, url = '', ref, integrity }: PluginSource,
  starting: Starting,
): Promise<Provenance | string | undefined> {
  if (type !== 'npm' || ref === undefined) return undefined
  try {
    const name = url.replace(/(?<=.)@.*$/, '')
    const view = parsed(await npm(['view', `${name}@${ref}`, 'dist', '--json'], starting, (_, text) => text))
    const attested = isObject(view) && isObject(view['attestations']) ? view['attestations']['url'] : undefined
    if (typeof attested !== 'string') return undefined
    if (!URL.canParse(attested)) return 'it has an attestation with an invalid address'
    return (
      provenanceIn(parsed(await webText(new URL(attested), mostAttested, starting)), integrity ?? '') ??
      'it has an attestation that says nothing of its source'
    )
  } catch (error) {
    return `its attestation cannot be read: ${(error as Error).message}`.replace(/\.$/, '')
  }
}

/** SLSA provenance 1 and 0.2 in the statements of a Sigstore bundle, as npm publishes them. */
function provenanceIn(document: unknown, integrity: string): Provenance | undefined {
  const all =
    isObject(document) && Array.isArray(document['attestations']) ? (document['attestations'] as unknown[]) : []
  for (const one of all) {
    const payload = at(one, 'bundle', 'dsseEnvelope', 'payload')
    if (!(textAt(one, 'predicateType') ?? '').startsWith('https://slsa.dev/provenance/') || typeof payload !== 'string')
      continue
    const statement = parsed(Buffer.from(payload, 'base64').toString('utf8'))
    const built = at(statement, 'predicate', 'buildDefinition')
    const repository =
      textAt(built, 'externalParameters', 'workflow', 'repository') ??
      textAt(statement, 'predicate', 'invocation', 'configSource', 'uri')
    if (repository === undefined) continue
    const commit =
      textAt(first(at(built, 'resolvedDependencies')), 'digest', 'gitCommit') ??
      textAt(statement, 'predicate', 'invocation', 'configSource', 'digest', 'sha1')
    const builder =
      textAt(statement, 'predicate', 'runDetails', 'builder', 'id') ?? textAt(statement, 'predicate', 'builder', 'id')
    const digest = textAt(first(at(statement, 'subject')), 'digest', 'sha512') ?? ''
    return {
      repository,
      ...definedOnly({ commit, builder }),
      same_bytes: `sha512-${Buffer.from(digest, 'hex').toString('base64')}` === integrity,
    }
  }
  return undefined
}

const at = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value)
const first = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined)
const textAt = (value: unknown, ...keys: string[]): string | undefined => {
  const found = at(value, ...keys)
  return typeof found === 'string' ? found : undefined
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown
  } catch {
    return undefined
  }
}
