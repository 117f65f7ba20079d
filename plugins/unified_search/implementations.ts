import { createPlacesHandler } from '../lib/symbols/index.js'

/** Lists the implementations of an interface or of its members. */
export default createPlacesHandler('textDocument/implementation', 'implementation', {
  needs: 'implementationProvider',
  ready: true,
})
