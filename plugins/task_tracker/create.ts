import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.tracker.create(input)) satisfies Handler
