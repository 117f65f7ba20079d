import type { Handler } from '../../core/index.js'
import { getReads } from '../lib/files/index.js'
import { readFile, type ReadInput } from '../lib/reading/index.js'

/** `unified_file/read`: reads the whole file, a page of lines, a range of bytes, or pages of a PDF. */
export default ((call, { workspace, signal, session }) =>
  readFile(call, {
    workspace,
    signal,
    reads: getReads(session),
    pdf: async (...read) => (await import('./pdf/read.js')).readPdf(...read, signal),
  })) satisfies Handler<ReadInput>
