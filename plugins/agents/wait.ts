import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default (({ input: { ids, mode, timeout_secs } }, context) => partsOf(context).wait(ids, mode, timeout_secs, context.signal)) satisfies Handler<{ ids?: string[]; mode: 'all' | 'any'; timeout_secs: number }>
