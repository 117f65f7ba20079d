import type { Handler } from '../../core/index.js'

/** `unified_search/skill`: `load_skill` under the name that searches are made with. */
export default (({ given }, context) => context.call('load_skill', { ...given })) satisfies Handler
