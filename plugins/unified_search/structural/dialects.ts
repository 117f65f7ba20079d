import { VtError, type Context } from '../../../core/index.js'
import { glob } from '../../lib/search/index.js'
import { languageNamed, languageOf, type Language } from '../../lib/syntax/index.js'
import { listOf, mapOf, readConfig, textsIn } from './config.js'

/** What the project's sgconfig.yml says about languages. */
export interface Dialects {
  /** The language of a file. */
  of(path: string): Language | undefined
  /** The file, where it embeds languages or brings some of its own: that is known to the program only. */
  config?: string
}

const file = 'sgconfig.yml'

/** Reads the project file in the root; without one, or with a broken one, extensions decide. */
export async function dialectsOf(context: Context): Promise<Dialects> {
  const config = await readConfig(context, file).catch((error: unknown) => {
    // Whoever scans is told what is wrong with it.
    if (error instanceof VtError) return undefined
    throw error
  })
  if (!config) return { of: languageOf }
  const rules = Object.entries(mapOf(config['languageGlobs'])).map(([name, globs]) => ({ language: known(name), matches: textsIn(globs).map((text) => glob(text, true)) }))
  const custom = Object.entries(mapOf(config['customLanguages'])).map(([name, how]) => known(name, textsIn(mapOf(how)['extensions'])))
  const own = new Map(custom.flatMap((language) => language.extensions.map((extension) => [extension, language])))
  return {
    of: (path) => rules.find(({ matches }) => matches.some((matching) => matching(path)))?.language ?? own.get(path.slice(path.lastIndexOf('.') + 1)) ?? languageOf(path),
    ...((custom.length > 0 || listOf(config['languageInjections']).length > 0) && { config: `${context.workspace.root}/${file}` }),
  }
}

const known = (name: string, extensions: string[] = []): Language => languageNamed(name) ?? { id: name, title: name, aliases: [], extensions }
