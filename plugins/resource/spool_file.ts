import { ok, problem, type Complete, type Handler } from '../../core/index.js'
import { ownsSpool, spoolFolder } from '../lib/state/index.js'

const MAX_BYTES = 4 * 1024 * 1024

/** What was too long to show in this session, whole up to 4 MiB; longer files are read by line with unified_file. */
export default (async ({ input: { id } }, context) => {
  // One name: nothing else is in the folder.
  const name = id.replaceAll('/', '_')
  const path = `${spoolFolder}/${name}`
  // What another session kept is not there.
  if (!ownsSpool(context.workspace, context.session.id, name)) throw problem('VT_PATH_NOT_FOUND', { path })
  const bytes = await context.workspace.read(path, { offset: 0, length: MAX_BYTES })
  return ok({ path }, { text: bytes.toString() })
}) satisfies Handler<{ id: string }>

export const complete: Complete = async (_, value, { workspace, session }) => {
  const names = await workspace.listNames(spoolFolder)
  return names.flatMap(({ name, kind }) =>
    kind === 'file' && !name.startsWith('.') && name.startsWith(value) && ownsSpool(workspace, session, name)
      ? [name]
      : [],
  )
}
