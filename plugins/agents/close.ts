import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default (({ input: { id } }, context) => partsOf(context).close(id)) satisfies Handler<{ id: string }>
