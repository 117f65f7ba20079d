import type { Handler } from '../../core/index.js'
import { scheduleOf } from './lent.js'

export default ((_, context) => scheduleOf(context).list()) satisfies Handler<object>
