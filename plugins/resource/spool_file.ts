import { ok, problem, type Complete, type Handler } from '../../core/index.js'
import { isSpoolOwner, SPOOL_FOLDER } from '../lib/state/index.js'

const MAX_BYTES = 4 * 1024 * 1024

/** Returns a spool file of this session, up to 4 MiB; unified_file reads longer ones by line. */
export default (async ({ input: { id } }, context) => {
  // The id becomes one file name, so that it cannot leave the folder.
  const name = id.replaceAll('/', '_')
  const path = `${SPOOL_FOLDER}/${name}`
  // Spool files of other sessions are reported as missing.
  if (!isSpoolOwner(context.workspace, context.session.id, name)) throw problem('VT_PATH_NOT_FOUND', { path })
  const bytes = await context.workspace.read(path, { offset: 0, length: MAX_BYTES })
  return ok({ path }, { text: bytes.toString() })
}) satisfies Handler<{ id: string }>

export const complete: Complete = async (_, value, { workspace, session }) => {
  const names = await workspace.listNames(SPOOL_FOLDER)
  return names.flatMap(({ name, kind }) =>
    kind === 'file' && !name.startsWith('.') && name.startsWith(value) && isSpoolOwner(workspace, session, name)
      ? [name]
      : [],
  )
}
