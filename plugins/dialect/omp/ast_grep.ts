import { existsSync } from 'node:fs'
import { isAbsolute, join } from 'node:path'
import {
  fail,
  ok,
  problem,
  type Context,
  type Failure,
  type Handler,
  type JsonObject,
  type Next,
} from '../../../core/index.js'
import { nextCall } from '../../lib/base/index.js'
import { getLoadedSkills, toCallerPath } from '../../lib/skills/index.js'

interface Input {
  pat: string
  paths: string[]
  skip: number
}
interface Match {
  file: string
  line_number: number
  text: string
  metaVariables?: { single?: Record<string, { text: string }>; multi?: Record<string, { text: string }[]> }
}

/** The detailed result of the structural search. */
interface Found {
  matches: Match[]
  total_matches?: number
  files_searched?: number
  files_with_matches?: number
  files?: { file: string; count: number }[]
  parse_issues?: { file?: string; language?: string; reason: string }[]
}

const PAGE_SIZE = 50
const MAX_ISSUES = 20

/** `ast_grep` with the schema of oh-my-pi, served by the structural search. */
const astGrep: Handler<Input> = async ({ input }, context) => {
  const pattern = input.pat.trim()
  if (pattern === '') throw problem('VT_INPUT_INVALID', { problem: "'pat' is empty." })
  const skip = Math.floor(input.skip)
  const { paths, single } = await filterExisting(
    input.paths.map((path) => resolveSkillPath(path, context)),
    context,
  )
  const asked = {
    action: 'structural',
    workflow: 'query',
    pattern,
    paths,
    strictness: 'smart',
    include_hidden: true,
    skip,
    max_results: PAGE_SIZE,
    response_format: 'detailed',
  }
  const result = await context.call('unified_search', asked)
  if (!result.ok) return restateFailure(result)
  // Another backend may return fewer fields.
  const found = result.output as unknown as Found
  const {
    matches: shown,
    total_matches: matchCount = shown.length,
    files_searched: filesSearched,
    files = [],
    parse_issues = [],
  } = found
  const limitReached = matchCount > skip + PAGE_SIZE
  const issues = [...new Set(parse_issues.map(({ file, language, reason }) => `${file ?? language}: ${reason}`))]
  const output: JsonObject = {
    matchCount,
    fileCount: found.files_with_matches ?? files.length,
    ...(filesSearched !== undefined && { filesSearched }),
    limitReached,
    ...(issues.length > 0 && { parseErrors: issues }),
    ...(paths.length === 1 && { scopePath: paths[0] }),
    files: files.map(({ file }) => file),
    fileMatches: files.map(({ file, count }) => ({ path: file, count })),
  }
  const anchors = context.plugin.options['anchors'] === 'hash' ? await readHashes(shown, context) : undefined
  const past = matchCount > 0 && shown.length === 0 ? `No matches after ${skip}; there are ${matchCount}.` : undefined
  // Issues of files and languages are in the text already.
  const notices = (result.notices ?? []).filter(
    ({ code }) => !['VT_SEARCH_PARSE', 'VT_SEARCH_LANG_SKIPPED'].includes(code),
  )
  return ok(output, {
    text: past ?? render(shown, anchors ?? single, limitReached, issues),
    ...(notices.length > 0 && { notices }),
  })
}
export default astGrep

/** Returns a failure of the structural search in the fields and with the hints of this tool. */
function restateFailure({ error }: Failure): Failure {
  const { code, message, hint, next, retryable, details } = error
  const restated = message
    .replace(/'(?:globs|paths)(?:\/\d+)?'/g, "'paths'")
    .replace(/'pattern'/g, "'pat'")
    // Paths are patterns below the root of the workspace.
    .replace(/('paths'(?:: | has )')\//, '$1')
  // An example shows the other tool.
  if (code === 'VT_INPUT_INVALID')
    throw problem(code, { problem: restated }, hint.startsWith('Example: ') ? undefined : { hint })
  const { action, path, pattern, paths = [path ?? '.'] } = next?.input ?? {}
  const own =
    action === 'structural' && pattern !== undefined ? { tool: 'ast_grep', input: { pat: pattern, paths } } : next
  return fail(code, restated, { retryable, ...(details && { details }), ...(own && { next: own }) })
}

/** Resolves `skill://NAME/FILE`, a file of a loaded skill inside the workspace. Throws VT_INPUT_INVALID. */
function resolveSkillPath(path: string, { host, session, workspace }: Context): string {
  const [, name, file] = /^\s*skill:\/\/([^/]+)\/(.+?)\s*$/.exec(path) ?? []
  if (name === undefined) return path
  const refuse = (what: string, extra?: { hint: string; next?: Next }) =>
    problem('VT_INPUT_INVALID', { problem: `'${path.trim()}' ${what}` }, extra)
  if (/[*?[{]/.test(file!)) throw refuse('holds a pattern; name one file.')
  const skill = host.skills().find(name)
  if (!skill || !getLoadedSkills(session).has(skill.id)) {
    const next = nextCall('skill', { name })
    throw refuse('names a skill that is not loaded.', { hint: 'Load it with {slot:load_skill}.', next })
  }
  const folder = toCallerPath(skill.folder, workspace)
  if (isAbsolute(folder)) {
    const hint = 'Name a file of a skill of the workspace. Read files of other skills with {slot:load_skill_resource}.'
    throw refuse('is outside the workspace.', { hint })
  }
  const way = join(folder, file!)
  if (!way.startsWith(`${folder}/`) || !existsSync(join(workspace.root, way)))
    throw refuse('is not a file of the skill.')
  return way
}

/** Reads the hashes of the shown files, as `expected_hash` of an edit takes them. */
async function readHashes(matches: readonly Match[], context: Context): Promise<Map<string, string>> {
  const files = [...new Set(matches.map(({ file }) => file))]
  const read = files.map((path) =>
    context.call('unified_file', { action: 'read', path, offset_lines: 1, page_size_lines: 1 }),
  )
  const hashes = (await Promise.all(read)).map((result) => (result.ok ? String(result.output['hash']) : ''))
  return new Map(files.map((path, at) => [path, hashes[at]!]))
}

/** Returns the paths that exist, and whether they are one single file. Throws VT_INPUT_INVALID, VT_PATH_NOT_FOUND. */
async function filterExisting(
  all: readonly string[],
  { workspace }: Context,
): Promise<{ paths: string[]; single: boolean }> {
  const found: { path: string; kind: string | undefined }[] = []
  for (const path of new Set(all.map((one) => one.trim()))) {
    if (path === '') throw problem('VT_INPUT_INVALID', { problem: "'paths' holds an empty entry." })
    if (/^[a-z][a-z0-9+.-]*:\/\//i.test(path))
      throw problem('VT_INPUT_INVALID', { problem: `'${path}' is not a path of the workspace.` })
    if (/[*?[{]/.test(path)) found.push({ path, kind: undefined })
    else {
      const stat = await workspace.stat(path)
      if (stat) found.push({ path, kind: stat.kind })
    }
  }
  if (found.length === 0)
    throw problem(
      'VT_PATH_NOT_FOUND',
      { path: all.join(', '), similar: '' },
      { hint: 'Name files, directories or globs of the workspace.' },
    )
  return { paths: found.map(({ path }) => path), single: found.length === 1 && found[0]!.kind === 'file' }
}

/**
 * Renders the matches. In line mode a single file has no header; with hashes each file has one, and a colon follows the
 * number.
 */
function render(
  matches: readonly Match[],
  mode: boolean | ReadonlyMap<string, string>,
  limitReached: boolean,
  issues: readonly string[],
): string {
  const listed =
    issues.length > 0
      ? [
          '',
          'Parse issues:',
          ...issues.slice(0, MAX_ISSUES).map((line) => `- ${line}`),
          ...(issues.length > MAX_ISSUES ? [`… +${issues.length - MAX_ISSUES} more`] : []),
        ]
      : []
  if (matches.length === 0) {
    const doubt =
      issues.length > 0
        ? '. Parse issues mean the query may be mis-scoped; narrow paths before concluding absence.'
        : ''
    return [`No matches found${doubt}`, ...listed].join('\n')
  }
  const blocks = new Map<string, string[]>()
  for (const match of matches)
    blocks.set(match.file, [
      ...(blocks.get(match.file) ?? []),
      ...formatMatch(match, typeof mode === 'boolean' ? '|' : ':'),
    ])
  const text = [...blocks].map(([file, lines]) => [...formatHeader(file, mode), ...lines].join('\n')).join('\n\n')
  return [text, ...(limitReached ? ['', 'Result limit reached; narrow paths or increase limit.'] : []), ...listed].join(
    '\n',
  )
}

/** Formats the nodes of a list, which include its commas. */
const formatNodes = (nodes: readonly { text: string }[]): string =>
  nodes
    .map(({ text }) => text)
    .filter((text) => text !== ',')
    .join(', ')

const formatHeader = (file: string, mode: boolean | ReadonlyMap<string, string>): string[] =>
  typeof mode === 'boolean' ? (mode ? [] : [`# ${file}`]) : [`¶${file}#${mode.get(file)!}`]

function formatMatch({ line_number, text, metaVariables = {} }: Match, mark: string): string[] {
  const [first = '', ...more] = text.split(/\r?\n/)
  const single = Object.entries(metaVariables.single ?? {}).map(([name, { text }]): [string, string] => [name, text])
  const multi = Object.entries(metaVariables.multi ?? {}).map(([name, nodes]): [string, string] => [
    name,
    formatNodes(nodes),
  ])
  const captures = [...single, ...multi].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, value]) => `${name}=${value}`)
  return [
    `*${line_number}${mark}${first}`,
    ...more.map((line, at) => ` ${line_number + at + 1}${mark}${line}`),
    ...(captures.length > 0 ? [`  meta: ${captures.join(', ')}`] : []),
  ]
}
