import type { Handler } from '../core/index.js'

export default (({ input }, { conversation }) => conversation!.plan.propose(input)) satisfies Handler
