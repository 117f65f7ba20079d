import { VtError, type Context } from '../../../core/index.js'
import { compileGlob } from '../../lib/globs/index.js'
import { languageByName, languageByPath, type Language } from '../../lib/syntax/index.js'
import { toList, toMap, readConfig, toTexts } from './config.js'

/** Languages of the project by its sgconfig.yml. */
export interface Dialects {
  /** Returns the language of a file. */
  languageByPath(path: string): Language | undefined
  /** Returns the ids of the languages whose files may hold code of this one. */
  hostsById(id: string): ReadonlySet<string>
  /** The project file, if it embeds or adds languages that only the program supports. */
  config?: string
}

const PROJECT_FILE = 'sgconfig.yml'
/** Built-in embeddings of ast-grep: injected language → host. */
const BUILT_IN: readonly (readonly [string, string])[] = ['javascript', 'typescript', 'tsx', 'css'].map((id) => [
  id,
  'html',
])

/** Reads the project file in the root; without one, or with a broken one, extensions decide. */
export async function readDialects(context: Context): Promise<Dialects> {
  const config = await readConfig(context, PROJECT_FILE).catch((error: unknown) => {
    // The workflow `scan` reports the error.
    if (error instanceof VtError) return undefined
    throw error
  })
  if (!config) return { languageByPath: languageByPath, hostsById: createHostLookup(BUILT_IN) }
  const rules = Object.entries(toMap(config['languageGlobs'])).map(([name, globs]) => ({
    language: toLanguage(name),
    matches: toTexts(globs).map((text) => compileGlob(text, true)),
  }))
  const custom = Object.entries(toMap(config['customLanguages'])).map(([name, how]) =>
    toLanguage(name, toTexts(toMap(how)['extensions'])),
  )
  const own = new Map(custom.flatMap((language) => language.extensions.map((extension) => [extension, language])))
  const injections = toList(config['languageInjections']).map(toMap)
  const embedded = injections.flatMap(({ hostLanguage, injected }) =>
    toTexts(injected).map((name) => [toLanguage(name).id, toLanguage(String(hostLanguage)).id] as const),
  )
  return {
    hostsById: createHostLookup([...BUILT_IN, ...embedded]),
    languageByPath: (path) =>
      rules.find(({ matches }) => matches.some((matching) => matching(path)))?.language ??
      own.get(path.slice(path.lastIndexOf('.') + 1)) ??
      languageByPath(path),
    ...((custom.length > 0 || injections.length > 0) && { config: `${context.workspace.root}/${PROJECT_FILE}` }),
  }
}

const toLanguage = (name: string, extensions: string[] = []): Language =>
  languageByName(name) ?? { id: name, title: name, aliases: [], extensions }

const createHostLookup =
  (pairs: readonly (readonly [injected: string, host: string])[]): Dialects['hostsById'] =>
  (id) =>
    new Set(pairs.flatMap(([injected, host]) => (injected === id ? [host] : [])))
