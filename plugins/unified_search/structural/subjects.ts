import { VtError, type Context, type Handle, type Notice } from '../../../core/index.js'
import {
  sortByPath,
  notice,
  createSlotError,
  listSearchNotices,
  formatNames,
  trimEndChars,
} from '../../lib/base/index.js'
import { isGlob } from '../../lib/globs/index.js'
import { listFiles, countMatches, openToSearch } from '../../lib/search/index.js'
import { languageByName, languageByPath, patternLanguages, type Language } from '../../lib/syntax/index.js'
import { shouldUseRule } from './arguments.js'
import type { Dialects } from './dialects.js'
import type { StructuralInput } from './types.js'

export interface StructuralSubject {
  path: string
  /** The searched language. */
  language: Language
  /** Language of the file, if it embeds the searched one. */
  host?: Language
}
export interface StructuralSubjects {
  files: StructuralSubject[]
  /** Files that hold the word that every match must hold. */
  holding: StructuralSubject[]
  notices: Notice[]
}

/** Languages in which almost any text parses; searched only if named. */
const QUIET_LANGUAGES = new Set(['html', 'css', 'json', 'yaml', 'markdown', 'toml'])

/** Represents the embedded languages of a host if no language is named. */
export const embedded: Language = { id: 'embedded', title: 'Embedded', aliases: [], extensions: ['html'] }

const html = languageByName('html')!
const page: Omit<StructuralSubject, 'path'> = { language: embedded, host: html }

/** Returns the language by which patterns read a file: pages of other names are read as HTML. */
const toPatternLanguage = (language: Language | undefined): Language | undefined =>
  language?.isOutlineOnly ? undefined : language?.isPage ? html : language

/** Returns the language in which a file is searched: its own, or the requested one embedded in it. */
function toSubject(
  own: Language | undefined,
  forced: Language | undefined,
  hosts: ReadonlySet<string>,
): Omit<StructuralSubject, 'path'> | undefined {
  if (!forced) return own && { language: own }
  if (forced.isPage) return own === html ? page : undefined
  if (own && own.id !== forced.id && hosts.has(own.id)) return { language: forced, host: own }
  return own?.id === forced.id || (forced.extensions.length === 0 && !own) ? { language: forced } : undefined
}

/** Finds the files of a query, each with its language. Throws VT_PATH_NOT_FOUND, VT_SEARCH_LANG. */
export async function findSubjects(
  context: Context,
  input: StructuralInput,
  dialects: Dialects,
  word: string | undefined,
): Promise<StructuralSubjects> {
  const found = startSubjects(input, dialects)
  const lost: VtError[] = []
  const entries = new Set(input.paths ?? [input.path])
  for (const entry of entries) {
    const target = await openToSearch(context, entry).catch((error: unknown) => {
      if (input.paths && isGlob(entry)) return undefined
      if (!input.paths || !(error instanceof VtError) || error.code !== 'VT_PATH_NOT_FOUND') throw error
      return error
    })
    if (target instanceof VtError) lost.push(target)
    else if (target?.kind === 'file') await addFile(found, target)
    else await addFolder(found, context, target, entry, word)
  }
  if (lost.length > 0 && lost.length === entries.size) throw lost[0]
  const { files, holding, notices } = found
  notices.push(...reportUnknownFiles(found))
  if (lost.length > 0) {
    const messages = lost.map(({ problem }) => problem.message)
    notices.push(notice('VT_SEARCH_PARTIAL', `Not found, left out: ${formatNames(messages)}`))
  }
  const all = sortByPath(files, ([path]) => path).map(([path, subject]) => ({ path, ...subject }))
  return { files: all, holding: all.filter(({ path }) => holding.has(path)), notices }
}

type Subjects = ReturnType<typeof startSubjects>

function startSubjects(input: StructuralInput, { languageByPath: findLanguage, hostsById }: Dialects) {
  const { lang: id, globs: declared = [], paths = [] } = input
  const forced = id === undefined ? undefined : (languageByName(id) ?? { id, title: id, aliases: [], extensions: [] })
  const globs = [declared].flat()
  return {
    input,
    forced,
    globs,
    named: new Set([...globs, ...paths].flatMap((glob) => languageByPath(trimEndChars(glob, '}]'))?.id ?? [])),
    hosts: hostsById(forced?.id ?? ''),
    languageByPath: (path: string) => {
      const language = findLanguage(path)
      return forced?.isPage && language !== forced ? undefined : toPatternLanguage(language)
    },
    files: new Map<string, Omit<StructuralSubject, 'path'>>(),
    holding: new Set<string>(),
    notices: [] as Notice[],
    unknownFiles: [] as string[],
  }
}

async function addFile(
  { files, forced, hosts, languageByPath, holding, unknownFiles }: Subjects,
  file: Handle,
): Promise<void> {
  await file.close()
  const { path } = file
  const language = languageByPath(path)
  if (forced ?? language)
    files.set(path, toSubject(language, forced, hosts) ?? (forced!.isPage ? page : { language: forced! }))
  else unknownFiles.push(path)
  holding.add(path)
}

/** Adds the files of a folder, or those that match the glob. */
async function addFolder(all: Subjects, context: Context, folder: Handle | undefined, entry: string, word?: string) {
  const { input, globs, holding } = all
  await using directory = folder ?? (await context.workspace.openDirectory('.'))
  const discovery = { include_hidden: input.include_hidden, globs: folder ? globs : [`/${entry}`, ...globs] }
  const how = { path: directory.path, literal: true, case_sensitive: true }
  const [listing, found] = await Promise.all([
    listFiles(context, directory, discovery),
    word === undefined ? undefined : countMatches(context, { ...discovery, ...how, patterns: [word] }),
  ])
  // Complaints of the search for the word include those of the walk.
  const { complaints, skipped } = found ?? { complaints: listing.complaints, skipped: [] }
  all.notices.push(...listSearchNotices({ ...listing, complaints, skipped }))
  for (const path of listing.files) addListed(all, path)
  for (const path of found?.files.map(({ file }) => file) ?? listing.files) holding.add(path)
}

function addListed({ input, files, forced, hosts, named, languageByPath }: Subjects, path: string): void {
  const language = languageByPath(path)
  if (forced || !language || !QUIET_LANGUAGES.has(language.id) || named.has(language.id)) {
    const subject = toSubject(language, forced, hosts)
    if (subject) files.set(path, subject)
  } else if (language.id === 'html' && !shouldUseRule(input) && input.pattern !== undefined) {
    files.set(path, { language: embedded, host: language })
  }
}

function reportUnknownFiles({ unknownFiles, files }: Subjects): Notice[] {
  if (unknownFiles.length === 0) return []
  const names = formatNames(unknownFiles.map((path) => `'${path}'`))
  const problem = `The extension of ${names} belongs to no supported language`
  const served = patternLanguages.map(({ id }) => id).join(' ')
  const hint = 'Name files of these languages, or give {field:lang} for other files.'
  if (files.size === 0) throw createSlotError('VT_SEARCH_LANG', `${problem}; supported: ${served}.`, { hint })
  return [notice('VT_SEARCH_LANG_SKIPPED', `${problem}; give lang to search it.`)]
}
