export { openParseCache, type ParseCache } from './cache.js'
export {
  checkNesting,
  isWritableByRootOnly,
  FORBIDDEN_KEYS,
  limits,
  parseCheckedJson,
  parseData,
  readBytes,
  createRealPathResolver,
  type ParsedDocument,
  type RealPath,
} from './document.js'
export { loadDocument, loadCode, parseDocument } from './explorer.js'
export { truncateText, sanitize } from './sanitize.js'
export { QUIET_MS, computeSignature, watchFiles } from './watch.js'
