import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.tracker.list(input)) satisfies Handler
