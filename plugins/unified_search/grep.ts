import { grepWith } from '../shared/grep.js'
import { places } from '../shared/places.js'
import { search } from '../shared/search.js'

/** Broad text search with ripgrep. Declines when it cannot be started. */
export default grepWith({ backend: 'ripgrep', search, places })
