export { resolveAuditLog } from './audit_log.js'
export {
  openCallLog,
  createRecord,
  readCallRecords,
  CALLS_FOLDER,
  toFolderName,
  type CallRecord,
} from './call_record.js'
export { isHolderAlive, isHolder, getOwnHolder, type Holder } from './holder.js'
export {
  ServerRecord,
  hashTool,
  formatTool,
  type ServerPrompt,
  type ServerTool,
  type ServerChange,
  type ServerOffers,
} from './server_record.js'
export { openPrivateFile, readPrivateFile } from './private_file.js'
export { openPrivateFolder } from './private_folder.js'
export { PresentSessions, type Presence } from './presence.js'
export { getRepeats } from './repeats.js'
export {
  waitForRedaction,
  MAX_SECRET_CHARACTERS,
  findSettledEnd,
  SpoolRedactor,
  redactBytes,
} from './spool_redactor.js'
export {
  openSpool,
  listOwnPaths,
  isSpoolOwner,
  writeSpool,
  SPOOL_FOLDER,
  listSpoolFiles,
  type SpoolFile,
} from './spool.js'
export { TokenStore } from './token_store.js'
