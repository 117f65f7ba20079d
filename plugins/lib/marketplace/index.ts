export { readEntry, toShortText, type MarketplaceEntry } from './entry.js'
export { writeListedParts } from './listed_parts.js'
