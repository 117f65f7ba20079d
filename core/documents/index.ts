export { openShelf, type Shelf } from './cache.js'
export { checkNesting, closedToOthers, forbidden, limits, parseAgain, parseData, readBytes, realPaths, type Data, type RealPath } from './document.js'
export { load, loadCode, loadOpened } from './explorer.js'
export { clean, invisible } from './sanitize.js'
