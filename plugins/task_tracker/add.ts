import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.tracker.add(input)) satisfies Handler
