import type { Handler } from '../../core/index.js'
import { scheduleOf } from './lent.js'

export default (({ input }, context) => scheduleOf(context).create(input)) satisfies Handler<{ prompt: string; expression?: string; every?: string; run_at?: string }>
