import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default (({ input }, context) => partsOf(context).spawn(input, context.signal, context.lent['call_id'] as string | undefined)) satisfies Handler<object>
