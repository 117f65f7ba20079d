import type { Handler } from '../../core/index.js'
import { trackingOf } from './tracking.js'

export default (({ input: { item, after } }, context) => trackingOf(context).add(item, after)) satisfies Handler<{ item: string | object; after?: number }>
