import type { Handler } from '../../core/index.js'
import { readFile, readsOf, type ReadInput } from '../lib/files/index.js'

/** `unified_file/read`: the whole file, a page of lines, or a range of bytes. */
export default ((call, { workspace, signal, session }) =>
  readFile(call, { workspace, signal, reads: readsOf(session) })) satisfies Handler<ReadInput>
