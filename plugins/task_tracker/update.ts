import type { Handler } from '../../core/index.js'
import { trackingOf } from './tracking.js'

export default (({ input }, context) => trackingOf(context).update(input)) satisfies Handler<object>
