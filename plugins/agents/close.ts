import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.delegation.close(input)) satisfies Handler
