import type { Handler } from '../../core/index.js'
import { trackingOf } from './tracking.js'

export default ((_, context) => trackingOf(context).list()) satisfies Handler<object>
