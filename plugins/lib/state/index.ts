export { auditLog } from './audit_log.js'
export { callsOf, entryOf, recordedCalls, callsFolder, folderName, type CallRecord } from './call_record.js'
export { holderLives, isHolder, thisHolder, type Holder } from './holder.js'
export {
  KeptServer,
  toolDigest,
  toolLines,
  type KeptPrompt,
  type KeptTool,
  type ServerChange,
  type ServerOffers,
} from './kept_server.js'
export { openOwn, readOwn } from './private_file.js'
export { ownFolder } from './private_folder.js'
export { repeatsOf } from './repeats.js'
export { blotted, longestSecret, settledWithin, SpoolCleaner, withoutSecrets } from './spool_cleaner.js'
export { openSpool, ownPlaces, ownsSpool, spool, spoolFolder, spooled, type Spool } from './spool.js'
export { TokenStore } from './token_store.js'
