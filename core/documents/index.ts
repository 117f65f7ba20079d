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
export { loadCode, loadDocument, openSettings, parseDocument, searchFolder, type FoundFile } from './explorer.js'
export { hasPackageSettings, MAX_PACKAGE_BYTES, PACKAGE_FILE } from './package_file.js'
export { truncateText, sanitize } from './sanitize.js'
export { QUIET_MS, computeSignature, watchFiles } from './watch.js'
