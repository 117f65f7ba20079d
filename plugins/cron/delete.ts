import type { Handler } from '../../core/index.js'

export default (({ input }, { conversation }) => conversation!.schedule.delete(input)) satisfies Handler
