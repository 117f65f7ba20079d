import type { Handler } from '../../core/index.js'
import { readFile, type ReadInput } from '../shared/read.js'
import { readsOf } from '../shared/reads.js'

/** `unified_file/read`: the whole file, a page of lines, or a range of bytes. */
export default ((call, { workspace, signal, session }) =>
  readFile(call, { workspace, signal, reads: readsOf(session) })) satisfies Handler<ReadInput>
