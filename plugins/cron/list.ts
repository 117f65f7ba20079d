import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.schedule.list(input)) satisfies Handler
