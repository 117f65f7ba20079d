import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.delegation.spawn(input)) satisfies Handler
