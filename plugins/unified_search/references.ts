import { createPlacesHandler } from '../lib/symbols/index.js'

/** Lists the places that use a symbol, with its declaration. */
export default createPlacesHandler(
  'textDocument/references',
  'reference',
  { needs: 'referencesProvider', ready: true },
  { context: { includeDeclaration: true } },
)
