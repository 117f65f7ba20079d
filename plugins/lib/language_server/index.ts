export { readChange } from './changes.js'
export { findLanguage, listDefinitions } from './definition.js'
export { toWorkspacePath, type OpenDocument } from './documents.js'
export { describePrograms } from './locate.js'
export {
  createMissingError,
  createServerError,
  findServer,
  groupByServer,
  isServed,
  type ServerContext,
} from './pool.js'
export { formatCounts, formatNews, formatPrograms, formatReport } from './report_text.js'
export type { Report } from './reports.js'
export type { LanguageServer } from './server.js'
export type { EditedFile, FileReports, ServerQuestion } from './use.js'
