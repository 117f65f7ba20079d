import { VtError, type Context, type Notice } from '../../../core/index.js'
import { inPathOrder, notice, slotRefusal, remarks, some, withoutEnd } from '../../lib/base/index.js'
import { isGlob } from '../../lib/globs/index.js'
import { filesBelow, countMatches, openToSearch } from '../../lib/search/index.js'
import { languageNamed, languageOf, patternLanguages, type Language } from '../../lib/syntax/index.js'
import { asRule } from './binary.js'
import type { Dialects } from './dialects.js'
import type { StructuralInput } from './types.js'

export interface StructuralSubject {
  path: string
  /** The one that is looked for. */
  language: Language
  /** The one of the file, where it is another that embeds code. */
  host?: Language
}
export interface StructuralSubjects {
  files: StructuralSubject[]
  /** Those that hold the word every match must hold. */
  holding: StructuralSubject[]
  notices: Notice[]
}

/** Languages in which almost any text parses: they take part only when they are named. */
const quiet = new Set(['html', 'css', 'json', 'yaml', 'markdown', 'toml'])

/** Stands for the languages inside of a host that nobody named. */
export const embedded: Language = { id: 'embedded', title: 'Embedded', aliases: [], extensions: ['html'] }

const withPatterns = (language: Language | undefined): Language | undefined => (language?.outlined ? undefined : language)

/** What a file is searched as: as its own language, or as host of the one that was asked for. */
function subjectOf(own: Language | undefined, forced: Language | undefined, hosts: ReadonlySet<string>): Omit<StructuralSubject, 'path'> | undefined {
  if (!forced) return own && { language: own }
  if (own && own.id !== forced.id && hosts.has(own.id)) return { language: forced, host: own }
  return own?.id === forced.id || (forced.extensions.length === 0 && !own) ? { language: forced } : undefined
}

/** The files of a query, each with its language. Throws VT_PATH_NOT_FOUND, VT_SEARCH_LANG. */
export async function structuralSubjects(context: Context, input: StructuralInput, { of, hostsOf }: Dialects, word: string | undefined): Promise<StructuralSubjects> {
  const forced = input.lang === undefined ? undefined : (languageNamed(input.lang) ?? { id: input.lang, title: input.lang, aliases: [], extensions: [] })
  const globs = [input.globs ?? []].flat()
  const named = new Set([...globs, ...(input.paths ?? [])].flatMap((glob) => languageOf(withoutEnd(glob, '}]'))?.id ?? []))
  const languageAt = (path: string) => withPatterns(of(path))
  const hosts = hostsOf(forced?.id ?? '')
  const files = new Map<string, Omit<StructuralSubject, 'path'>>()
  const take = (path: string, language: Language | undefined): void => {
    const subject = subjectOf(language, forced, hosts)
    if (subject) files.set(path, subject)
  }
  const holding = new Set<string>()
  const notices: Notice[] = []
  const lost: VtError[] = []
  const strange: string[] = []
  for (const entry of new Set(input.paths ?? [input.path])) {
    const target = await openToSearch(context, entry).catch((error: unknown) => {
      if (input.paths && isGlob(entry)) return undefined
      if (!input.paths || !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
      lost.push(error)
      return null
    })
    if (target === null) continue
    if (target?.kind === 'file') {
      await target.close()
      const language = languageAt(target.path)
      if (forced ?? language) files.set(target.path, subjectOf(language, forced, hosts) ?? { language: forced! })
      else strange.push(target.path)
      holding.add(target.path)
      continue
    }
    await using directory = target ?? (await context.workspace.openDirectory('.'))
    const discovery = { include_hidden: input.include_hidden, globs: target ? globs : [`/${entry}`, ...globs] }
    const [listing, found] = await Promise.all([
      filesBelow(context, directory, discovery),
      word === undefined ? undefined : countMatches(context, { ...discovery, path: directory.path, patterns: [word], literal: true, case_sensitive: true }),
    ])
    // The search for the word met everything that the walk met, and the files besides.
    notices.push(...remarks({ ...listing, complaints: found?.complaints ?? listing.complaints, skipped: found?.skipped ?? [] }))
    for (const path of listing.files) {
      const language = languageAt(path)
      if (forced || !language || !quiet.has(language.id) || named.has(language.id)) take(path, language)
      else if (language.id === 'html' && !asRule(input) && input.pattern !== undefined) files.set(path, { language: embedded, host: language })
    }
    for (const path of found?.files.map(({ file }) => file) ?? listing.files) holding.add(path)
  }
  if (lost.length > 0 && lost.length === new Set(input.paths).size) throw lost[0]
  if (strange.length > 0) {
    const problem = `The extension of ${some(strange.map((path) => `'${path}'`))} is of no language that is served`
    const served = patternLanguages.map(({ id }) => id).join(' ')
    const hint = 'Name files of these languages. Give {field:lang} for others.'
    if (files.size === 0) throw slotRefusal('VT_SEARCH_LANG', `${problem}; served: ${served}.`, { hint })
    notices.push(notice('VT_SEARCH_LANG_SKIPPED', `${problem}; give lang to have it searched.`))
  }
  if (lost.length > 0) notices.push(notice('VT_SEARCH_PARTIAL', `Not there, left out: ${some(lost.map((error) => error.problem.message))}`))
  const all = inPathOrder(files, ([path]) => path).map(([path, subject]) => ({ path, ...subject }))
  return { files: all, holding: all.filter(({ path }) => holding.has(path)), notices }
}
