import type { Handler } from '../../core/index.js'
import { scheduleOf } from './lent.js'

export default (({ input }, context) => scheduleOf(context).delete(input.id)) satisfies Handler<{ id: string }>
