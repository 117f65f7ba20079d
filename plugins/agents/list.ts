import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.delegation.list(input)) satisfies Handler
