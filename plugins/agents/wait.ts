import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.delegation.wait(input)) satisfies Handler
