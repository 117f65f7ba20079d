import type { Call, Compactor, Context, Notice, Result } from '../../core/index.js'
import { hasSettled } from '../lib/process/index.js'
import {
  findServer,
  formatNews,
  groupByServer,
  isServed,
  readChange,
  type EditedFile,
  type FileReports,
  type LanguageServer,
} from '../lib/language_server/index.js'

/** Bytes of all diagnostics that are shown with a change. */
const MAX_BYTES = 600

/**
 * Adds the diagnostics that a change of files added, as a notice. A server that is not ready or failed is named. No
 * notice means no new diagnostics, or no language server for these files.
 */
const diagnostics: Compactor = (result, call, context) => {
  const { diagnostics: how, language_servers: servers } = context.settings
  const off = how.after_changes === 'off' || !servers.enabled || call.input['diagnostics'] === 'none'
  if (off || !result.ok || result.output['dry_run'] === true) return result
  const hasServer = call.places.some(
    ({ entry }) => isServed(entry, context) && findServer(entry, context) !== undefined,
  )
  return hasServer ? addNotices(result, call, context) : result
}
export default diagnostics

async function addNotices(result: Result, call: Call, context: Context): Promise<Result> {
  const { workspace, session } = context
  const changes = groupByServer(await readChange(workspace, session.id, call.id), ({ path }) => path, context)
  const checks = await Promise.all([...changes].map(([server, files]) => check(server, files, context)))
  const found = checks.flatMap(({ files }) => files)
  const added: Notice = { code: 'VT_DIAGNOSTICS_NEW', message: formatNews(found, MAX_BYTES, formatRest) }
  const notices = [...(found.length > 0 ? [added] : []), ...checks.flatMap(({ problem }) => problem ?? [])]
  return notices.length === 0 ? result : { ...result, notices: [...(result.notices ?? []), ...notices] }
}

/** The new diagnostics of a change, and why some may be missing. */
interface Check {
  files: FileReports[]
  problem?: Notice
}

/** Waits for the check of a change for a limited time. A check that takes longer continues: the next one shows it. */
async function check(server: LanguageServer, changes: EditedFile[], { workspace, settings }: Context): Promise<Check> {
  const { after_changes, wait_ms } = settings.diagnostics
  const { name } = server.options.definition
  const shown = after_changes === 'all' ? ['error', 'warning'] : ['error']
  let waiting = true
  const work = server.checkChange(changes, { workspace, signal: new AbortController().signal }, () => waiting)
  const inTime = await hasSettled(work, wait_ms)
  waiting = false
  if (!inTime) return { files: [], problem: createLateNotice(name, server.state === 'running', wait_ms) }
  try {
    const files = (await work).map(({ path, reports }) => ({
      path,
      reports: reports.filter(({ severity }) => shown.includes(severity)),
    }))
    return { files: files.filter(({ reports }) => reports.length > 0) }
  } catch (error) {
    return { files: [], problem: createFailureNotice(name, error as Error) }
  }
}

const formatRest = (count: number, path: string): string =>
  `… and ${count} more: unified_search ${JSON.stringify({ action: 'diagnostics', path })}`

const createLateNotice = (name: string, running: boolean, ms: number): Notice => ({
  code: 'VT_DIAGNOSTICS_LATE',
  message: running
    ? `The language server ${name} did not finish within ${ms} ms. The next change shows what it finds.`
    : `The language server ${name} is starting. The next change shows what it finds.`,
})

const createFailureNotice = (name: string, { message }: Error): Notice => ({
  code: 'VT_DIAGNOSTICS_FAILED',
  message: `The change was not checked: the language server ${name} cannot be used, because ${message.slice(0, 400)}.`,
})
