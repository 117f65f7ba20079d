export { openShelf, type ParseCache } from './cache.js'
export { checkNesting, closedToOthers, forbidden, limits, parseAgain, parseData, readBytes, realPaths, type Data, type RealPath } from './document.js'
export { loadDocument, loadCode, loadOpened } from './explorer.js'
export { sanitize, invisible } from './sanitize.js'
