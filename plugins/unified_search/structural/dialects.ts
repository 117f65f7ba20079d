import { VtError, type Context } from '../../../core/index.js'
import { compileGlob } from '../../lib/globs/index.js'
import { languageByName, languageByPath, type Language } from '../../lib/syntax/index.js'
import { listOf, mapOf, readConfig, textsIn } from './config.js'

/** What the project's sgconfig.yml says about languages. */
export interface Dialects {
  /** The language of a file. */
  of(path: string): Language | undefined
  /** Ids of the languages whose files may hold code of this one. */
  hostsOf(id: string): ReadonlySet<string>
  /** The project file, where it embeds or adds languages: only the program knows those. */
  config?: string
}

const file = 'sgconfig.yml'
/** What ast-grep embeds by itself: injected language → its host. */
const builtIn: readonly (readonly [string, string])[] = ['javascript', 'typescript', 'tsx', 'css'].map((id) => [
  id,
  'html',
])

/** Reads the project file in the root; without one, or with a broken one, extensions decide. */
export async function dialectsOf(context: Context): Promise<Dialects> {
  const config = await readConfig(context, file).catch((error: unknown) => {
    // Whoever scans is told what is wrong with it.
    if (error instanceof VtError) return undefined
    throw error
  })
  if (!config) return { of: languageByPath, hostsOf: hostsIn(builtIn) }
  const rules = Object.entries(mapOf(config['languageGlobs'])).map(([name, globs]) => ({
    language: known(name),
    matches: textsIn(globs).map((text) => compileGlob(text, true)),
  }))
  const custom = Object.entries(mapOf(config['customLanguages'])).map(([name, how]) =>
    known(name, textsIn(mapOf(how)['extensions'])),
  )
  const own = new Map(custom.flatMap((language) => language.extensions.map((extension) => [extension, language])))
  const injections = listOf(config['languageInjections']).map(mapOf)
  const embedded = injections.flatMap(({ hostLanguage, injected }) =>
    textsIn(injected).map((name) => [known(name).id, known(String(hostLanguage)).id] as const),
  )
  return {
    hostsOf: hostsIn([...builtIn, ...embedded]),
    of: (path) =>
      rules.find(({ matches }) => matches.some((matching) => matching(path)))?.language ??
      own.get(path.slice(path.lastIndexOf('.') + 1)) ??
      languageByPath(path),
    ...((custom.length > 0 || injections.length > 0) && { config: `${context.workspace.root}/${file}` }),
  }
}

const known = (name: string, extensions: string[] = []): Language =>
  languageByName(name) ?? { id: name, title: name, aliases: [], extensions }

const hostsIn =
  (pairs: readonly (readonly [injected: string, host: string])[]): Dialects['hostsOf'] =>
  (id) =>
    new Set(pairs.flatMap(([injected, host]) => (injected === id ? [host] : [])))
