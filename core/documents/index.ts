export { openShelf, type ParseCache } from './cache.js'
export {
  checkNesting,
  closedToOthers,
  forbidden,
  limits,
  parseAgain,
  parseData,
  readBytes,
  realPaths,
  type Data,
  type RealPath,
} from './document.js'
export { loadDocument, loadCode, loadOpened } from './explorer.js'
export { cutText, sanitize } from './sanitize.js'
export { quietMs, signatureOf, watchFiles } from './watch.js'
