import { createPlacesHandler } from '../lib/symbols/index.js'

/** Lists the definitions of a symbol. */
export default createPlacesHandler('textDocument/definition', 'definition', {
  needs: 'definitionProvider',
  ready: false,
})
