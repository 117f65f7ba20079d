import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default (({ input: { id, message, interrupt } }, context) => partsOf(context).send(id, message, interrupt)) satisfies Handler<{ id: string; message: string; interrupt: boolean }>
