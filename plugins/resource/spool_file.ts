import { ok, type Complete, type Handler } from '../../core/index.js'
import { spoolFolder } from '../lib/state/index.js'

const MAX_BYTES = 4 * 1024 * 1024

/** What was too long to show, whole up to 4 MiB; longer files are read by line with unified_file. */
export default (async ({ input: { id } }, { workspace }) => {
  // One name: nothing else is in the folder.
  const path = `${spoolFolder}/${id.replaceAll('/', '_')}`
  const bytes = await workspace.read(path, { offset: 0, length: MAX_BYTES })
  return ok({ path }, { text: bytes.toString() })
}) satisfies Handler<{ id: string }>

export const complete: Complete = async (_, value, { workspace }) => {
  const names = await workspace.names(spoolFolder)
  return names.flatMap(({ name, kind }) => (kind === 'file' && !name.startsWith('.') && name.startsWith(value) ? [name] : []))
}
