import type { ContributionInfo, Layer, LanguageServerData } from '../../../core/shapes/index.js'

/** A usable definition of a language server, with the manifest that contains it. */
export interface LanguageServerDefinition extends LanguageServerData {
  /** The id of the manifest, such as `builtin:typescript`. */
  readonly id: string
  readonly name: string
  readonly layer: Layer
  readonly file: string
}

/** Own definitions come before those of a repository, and both before the built-in ones. */
const LAYER_ORDER: Layer[] = ['call', 'admin', 'user', 'workspace', 'builtin']

const known = new WeakMap<readonly ContributionInfo[], LanguageServerDefinition[]>()

/** Lists the definitions of active manifests, those that are preferred first. */
export function listDefinitions(contributions: readonly ContributionInfo[]): LanguageServerDefinition[] {
  const cached = known.get(contributions)
  if (cached) return cached
  const found = contributions
    .flatMap(({ id, layer, file, state, language_server }) =>
      language_server && state === 'active'
        ? [{ ...language_server, id, name: id.slice(id.indexOf(':') + 1), layer, file }]
        : [],
    )
    .sort((a, b) => LAYER_ORDER.indexOf(a.layer) - LAYER_ORDER.indexOf(b.layer) || (a.order ?? 0) - (b.order ?? 0))
  known.set(contributions, found)
  return found
}

/** Returns the identifier of the language of a file; nothing where the server does not serve it. */
export function findLanguage(
  { languages }: Pick<LanguageServerDefinition, 'languages'>,
  path: string,
): string | undefined {
  const name = path.slice(path.lastIndexOf('/') + 1)
  const ending = Object.keys(languages)
    .filter((one) => name.endsWith(one) && (one.startsWith('.') || name === one))
    .sort((a, b) => b.length - a.length)[0]
  return ending === undefined ? undefined : languages[ending]
}
