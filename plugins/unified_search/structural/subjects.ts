import { VtError, type Context, type Handle, type Notice } from '../../../core/index.js'
import { sortByPath, notice, createSlotError, listSearchNotices, some, trimEndChars } from '../../lib/base/index.js'
import { isGlob } from '../../lib/globs/index.js'
import { listFiles, countMatches, openToSearch } from '../../lib/search/index.js'
import { languageByName, languageByPath, patternLanguages, type Language } from '../../lib/syntax/index.js'
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

const withPatterns = (language: Language | undefined): Language | undefined =>
  language?.isOutlineOnly ? undefined : language

/** What a file is searched as: as its own language, or as host of the one that was asked for. */
function subjectOf(
  own: Language | undefined,
  forced: Language | undefined,
  hosts: ReadonlySet<string>,
): Omit<StructuralSubject, 'path'> | undefined {
  if (!forced) return own && { language: own }
  if (own && own.id !== forced.id && hosts.has(own.id)) return { language: forced, host: own }
  return own?.id === forced.id || (forced.extensions.length === 0 && !own) ? { language: forced } : undefined
}

/** The files of a query, each with its language. Throws VT_PATH_NOT_FOUND, VT_SEARCH_LANG. */
export async function structuralSubjects(
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
  notices.push(...strangeFiles(found))
  if (lost.length > 0) {
    const messages = lost.map(({ problem }) => problem.message)
    notices.push(notice('VT_SEARCH_PARTIAL', `Not there, left out: ${some(messages)}`))
  }
  const all = sortByPath(files, ([path]) => path).map(([path, subject]) => ({ path, ...subject }))
  return { files: all, holding: all.filter(({ path }) => holding.has(path)), notices }
}

type Subjects = ReturnType<typeof startSubjects>

function startSubjects(input: StructuralInput, { of, hostsOf }: Dialects) {
  const { lang: id, globs: declared = [], paths = [] } = input
  const forced = id === undefined ? undefined : (languageByName(id) ?? { id, title: id, aliases: [], extensions: [] })
  const globs = [declared].flat()
  return {
    input,
    forced,
    globs,
    named: new Set([...globs, ...paths].flatMap((glob) => languageByPath(trimEndChars(glob, '}]'))?.id ?? [])),
    hosts: hostsOf(forced?.id ?? ''),
    languageAt: (path: string) => withPatterns(of(path)),
    files: new Map<string, Omit<StructuralSubject, 'path'>>(),
    holding: new Set<string>(),
    notices: [] as Notice[],
    strange: [] as string[],
  }
}

async function addFile({ files, forced, hosts, languageAt, holding, strange }: Subjects, file: Handle): Promise<void> {
  await file.close()
  const { path } = file
  const language = languageAt(path)
  if (forced ?? language) files.set(path, subjectOf(language, forced, hosts) ?? { language: forced! })
  else strange.push(path)
  holding.add(path)
}

/** Adds the files of a folder, or those that the glob matches. */
async function addFolder(all: Subjects, context: Context, folder: Handle | undefined, entry: string, word?: string) {
  const { input, globs, holding } = all
  await using directory = folder ?? (await context.workspace.openDirectory('.'))
  const discovery = { include_hidden: input.include_hidden, globs: folder ? globs : [`/${entry}`, ...globs] }
  const how = { path: directory.path, literal: true, case_sensitive: true }
  const [listing, found] = await Promise.all([
    listFiles(context, directory, discovery),
    word === undefined ? undefined : countMatches(context, { ...discovery, ...how, patterns: [word] }),
  ])
  // The search for the word met everything that the walk met, and the files besides.
  const { complaints, skipped } = found ?? { complaints: listing.complaints, skipped: [] }
  all.notices.push(...listSearchNotices({ ...listing, complaints, skipped }))
  for (const path of listing.files) addListed(all, path)
  for (const path of found?.files.map(({ file }) => file) ?? listing.files) holding.add(path)
}

function addListed({ input, files, forced, hosts, named, languageAt }: Subjects, path: string): void {
  const language = languageAt(path)
  if (forced || !language || !quiet.has(language.id) || named.has(language.id)) {
    const subject = subjectOf(language, forced, hosts)
    if (subject) files.set(path, subject)
  } else if (language.id === 'html' && !asRule(input) && input.pattern !== undefined) {
    files.set(path, { language: embedded, host: language })
  }
}

function strangeFiles({ strange, files }: Subjects): Notice[] {
  if (strange.length === 0) return []
  const problem = `The extension of ${some(strange.map((path) => `'${path}'`))} is of no language that is served`
  const served = patternLanguages.map(({ id }) => id).join(' ')
  const hint = 'Name files of these languages. Give {field:lang} for others.'
  if (files.size === 0) throw createSlotError('VT_SEARCH_LANG', `${problem}; served: ${served}.`, { hint })
  return [notice('VT_SEARCH_LANG_SKIPPED', `${problem}; give lang to have it searched.`)]
}
