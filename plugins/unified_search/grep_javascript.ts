import { grepWith, placesOurselves, searchOurselves } from '../lib/search/index.js'

/** Text search where ripgrep is missing: the same answers, slower, without look-around and back-references. */
export default grepWith({ backend: 'javascript', search: searchOurselves, places: placesOurselves })
