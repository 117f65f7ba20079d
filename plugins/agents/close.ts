import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default (({ input: { id, merge = false } }, context) => partsOf(context).close(id, merge, context.signal)) satisfies Handler<{ id: string; merge?: boolean | string[] }>
