import { ok, type Context, type Handler, type Notice } from '../../core/index.js'
import { formatNames, notice, pluralize, sortByPath } from '../lib/base/index.js'
import {
  createMissingError,
  createServerError,
  findServer,
  formatCounts,
  formatReport,
  groupByServer,
  isServed,
  type FileReports,
  type Report,
} from '../lib/language_server/index.js'
import { openToSearch } from '../lib/search/index.js'
import { listFiles } from '../lib/walk/index.js'

/** Files that one call checks. */
const MAX_FILES = 500
const SEVERITIES = ['error', 'warning', 'info', 'hint']

interface Input {
  path: string
  severity: Report['severity']
  max_results: number
  skip: number
}

/** Lists the diagnostics of a file or folder, from the language servers that serve its files. */
const diagnostics: Handler<Input> = async ({ input, given }, context) => {
  const { paths, notices } = await findSubjects(input.path, context)
  const reports: FileReports[] = []
  for (const [server, files] of groupByServer(paths, (file) => file, context)) {
    try {
      reports.push(...(await server.diagnose(files, context)))
    } catch (error) {
      context.signal.throwIfAborted()
      throw createServerError(server, error as Error)
    }
  }
  const rows = sortByPath(reports, ({ path }) => path).flatMap((file) =>
    file.reports
      .filter(({ severity }) => SEVERITIES.indexOf(severity) <= SEVERITIES.indexOf(input.severity))
      .map((report) => ({ path: file.path, report })),
  )
  const shown = rows.slice(input.skip, input.skip + input.max_results)
  const end = input.skip + shown.length
  const next = {
    tool: 'unified_search',
    input: { action: 'diagnostics', ...given, skip: end },
  }
  const left = rows.length - end
  const matches = shown.map(({ path, report: { line, column, ...rest } }) => ({
    path,
    line_number: line + 1,
    column: column + 1,
    ...rest,
  }))
  const counts = formatCounts(rows.map(({ report }) => report)) || `No ${describeLeast(input.severity)}`
  const text = [
    ...shown.map(({ path, report }) => formatReport(path, report)),
    `${counts} in ${pluralize(reports.length, 'file')}.${left > 0 ? ` ${left} more: skip=${end}` : ''}`,
  ].join('\n')
  return ok(
    { matches, total: rows.length, files: reports.length, truncated: left > 0, ...(left > 0 && { next }) },
    { text, ...(notices.length > 0 && { notices }) },
  )
}
export default diagnostics

const describeLeast = (severity: Report['severity']): string =>
  severity === 'error' ? 'errors' : severity === 'warning' ? 'errors or warnings' : 'diagnostics'

/** Returns the files to check: the named one, or those below the named folder that a language server serves. */
async function findSubjects(path: string, context: Context): Promise<{ paths: string[]; notices: Notice[] }> {
  await using target = await openToSearch(context, path)
  if (target.kind === 'file') {
    if (!findServer(target.path, context)) throw createMissingError(target.path, context)
    return { paths: [target.path], notices: [] }
  }
  const served = (await listFiles(context, target, {})).files.filter((file) => isServed(file, context))
  const paths: string[] = []
  const missing: string[] = []
  for (const file of served) (findServer(file, context) ? paths : missing).push(file)
  if (paths.length === 0) throw createMissingError(served[0] ?? path, context)
  return {
    paths: paths.slice(0, MAX_FILES),
    notices: [
      ...describeRest(missing, 'have no language server here'),
      ...describeRest(paths.slice(MAX_FILES), `are beyond the limit of ${MAX_FILES} files`),
    ],
  }
}

const describeRest = (files: string[], why: string): Notice[] =>
  files.length === 0
    ? []
    : [notice('VT_DIAGNOSTICS_PARTIAL', `Not checked, because they ${why}: ${formatNames(files, 5)}.`)]
