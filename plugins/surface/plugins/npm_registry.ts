import { omitUndefined, isObject } from '../../../core/shapes/index.js'
import type { FetchedSource } from './fetched_source.js'
import type { IndexedPlugin } from './indexed_plugin.js'
import { parseJson, runNpm } from './npm.js'
import { downloadText } from './source.js'
import type { ProgramContext } from './capture_output.js'
import { UserError } from './user_error.js'

const PLUGIN_KEYWORD = 'vtcode-plugin'
const MAX_FOUND = 100
const MAX_ATTESTATION_BYTES = 4 * 1_048_576

/** Searches an npm registry for plugins by their keyword; an index `@scope` limits the search to the scope. */
export async function searchNpm(
  index: string,
  words: readonly string[],
  starting: ProgramContext,
): Promise<IndexedPlugin[]> {
  const scope = index.replace(/^npm:?/, '')
  const terms = words.map((word) => word.replace(/[^\w@/.-]+/g, ' ').trim()).filter(Boolean)
  const query = [`keywords:${PLUGIN_KEYWORD}`, ...(scope === '' ? [] : [`scope:${scope.slice(1)}`]), ...terms].join(' ')
  const printed = await runNpm(
    ['search', query, '--json', `--searchlimit=${MAX_FOUND}`, ...(await resolveRegistryFlags(scope, starting))],
    starting,
    (_, text) => text,
  )
  const found = parseJson(printed)
  if (!Array.isArray(found)) throw new UserError('npm search printed no valid JSON')
  return (found as unknown[]).filter(isObject).flatMap((one) => {
    const { name, version, description, keywords, license, publisher, links } = one
    if (
      typeof name !== 'string' ||
      typeof version !== 'string' ||
      !/^(?:@[a-z0-9][\w.-]*\/)?[a-z0-9][\w.-]*$/.test(name)
    )
      return []
    if (
      !Array.isArray(keywords) ||
      !keywords.includes(PLUGIN_KEYWORD) ||
      (scope !== '' && !name.startsWith(`${scope}/`))
    )
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

/** Returns the npm flags for the registry of a scope, which npm search does not choose itself. */
async function resolveRegistryFlags(scope: string, starting: ProgramContext): Promise<string[]> {
  if (scope === '') return []
  const registry = (await runNpm(['config', 'get', `${scope}:registry`], starting, (_, text) => text)).trim()
  return /^https?:\/\//.test(registry) ? [`--registry=${registry}`] : []
}

/** The attested source and builder of a package. Untrusted text. */
export interface Provenance {
  repository: string
  commit?: string
  builder?: string
  /** True if the attestation matches the fetched bytes. Only `npm audit signatures` checks its signature. */
  same_bytes: boolean
}

/** Reads the attestation of a package; returns a sentence where it cannot be read. */
export async function readProvenance(
  { source: { integrity = '' }, attested }: FetchedSource,
  starting: ProgramContext,
): Promise<Provenance | string | undefined> {
  if (attested === undefined) return undefined
  try {
    if (!URL.canParse(attested)) return 'its attestation has an invalid URL'
    return (
      parseProvenance(parseJson(await downloadText(new URL(attested), MAX_ATTESTATION_BYTES, starting)), integrity) ??
      'its attestation names no source'
    )
  } catch (error) {
    return `its attestation cannot be read: ${(error as Error).message}`
  }
}

/** Parses SLSA provenance 1 and 0.2 from the statements of a Sigstore bundle, as npm publishes them. */
function parseProvenance(document: unknown, integrity: string): Provenance | undefined {
  const all =
    isObject(document) && Array.isArray(document['attestations']) ? (document['attestations'] as unknown[]) : []
  for (const one of all) {
    const payload = readPath(one, 'bundle', 'dsseEnvelope', 'payload')
    if (
      !(readText(one, 'predicateType') ?? '').startsWith('https://slsa.dev/provenance/') ||
      typeof payload !== 'string'
    )
      continue
    const statement = parseJson(Buffer.from(payload, 'base64').toString('utf8'))
    const built = readPath(statement, 'predicate', 'buildDefinition')
    const repository =
      readText(built, 'externalParameters', 'workflow', 'repository') ??
      readText(statement, 'predicate', 'invocation', 'configSource', 'uri')
    if (repository === undefined) continue
    const commit =
      readText(firstItem(readPath(built, 'resolvedDependencies')), 'digest', 'gitCommit') ??
      readText(statement, 'predicate', 'invocation', 'configSource', 'digest', 'sha1')
    const builder =
      readText(statement, 'predicate', 'runDetails', 'builder', 'id') ??
      readText(statement, 'predicate', 'builder', 'id')
    const digest = readText(firstItem(readPath(statement, 'subject')), 'digest', 'sha512') ?? ''
    return {
      repository,
      ...omitUndefined({ commit, builder }),
      same_bytes: `sha512-${Buffer.from(digest, 'hex').toString('base64')}` === integrity,
    }
  }
  return undefined
}

const readPath = (value: unknown, ...keys: string[]): unknown =>
  keys.reduce<unknown>((inner, key) => (isObject(inner) ? inner[key] : undefined), value)
const firstItem = (value: unknown): unknown => (Array.isArray(value) ? (value as unknown[])[0] : undefined)
const readText = (value: unknown, ...keys: string[]): string | undefined => {
  const found = readPath(value, ...keys)
  return typeof found === 'string' ? found : undefined
}
