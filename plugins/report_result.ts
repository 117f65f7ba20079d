import type { Handler } from '../core/index.js'

export default (({ input }, { conversation }) => conversation!.report.finish(input)) satisfies Handler
