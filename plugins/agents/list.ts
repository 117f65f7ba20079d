import type { Handler } from '../../core/index.js'
import { partsOf } from './parts.js'

export default ((_, context) => partsOf(context).list()) satisfies Handler
