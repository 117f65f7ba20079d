import { ok, VtError, visibleLine, type Context, type Handler } from '../../core/index.js'
import { pluralize } from '../lib/base/index.js'
import { diffTexts } from '../lib/files/index.js'
import {
  applyTextEdits,
  askAboutSymbol,
  createRenameError,
  readWorkspaceEdit,
  type TargetInput,
} from '../lib/symbols/index.js'

type Input = TargetInput & { new_name: string; dry_run: boolean }

/** Renames a symbol in all files: the edit of the language server becomes one patch, which policies judge as such. */
const rename: Handler<Input> = async ({ input }, context) => {
  const query = { needs: 'renameProvider', ready: true } as const
  const files = await askAboutSymbol(input, context, query, async (place, { send, hasChanged }) => {
    const edit = await send('textDocument/rename', { ...place, newName: input.new_name }).catch((error: Error) => {
      throw createRenameError(visibleLine(error.message).slice(0, 400))
    })
    const rendered = await renderFiles(edit, context)
    // The server's places are those of the texts that it knows.
    const changed = rendered.find(({ path }) => hasChanged(path))
    if (changed) throw createRenameError(`${visibleLine(changed.path)} was changed in the meantime; call again`)
    return rendered
  })
  if (files.length === 0) throw createRenameError('the language server returned no edits')
  const patch = files.map(({ diff }) => diff).join('')
  const result = await context.call('apply_patch', { input: patch, dry_run: input.dry_run })
  if (!result.ok) throw new VtError(result.error)
  const changes = files.map(({ path, edits }) => ({ path, edits }))
  const total = changes.reduce((sum, { edits }) => sum + edits, 0)
  const verb = input.dry_run ? 'would rename' : 'renamed'
  const head = `${verb} ${pluralize(total, 'place')} in ${pluralize(files.length, 'file')}`
  const rows = changes.map(({ path, edits }) => `${visibleLine(path)}: ${edits}`)
  return ok(
    { changes: result.output['changes'], total, files: files.length, dry_run: input.dry_run },
    { text: [head, ...rows].join('\n'), ...(result.notices && { notices: result.notices }) },
  )
}
export default rename

/** Returns the changes of each file as a diff. Throws VT_RENAME_REFUSED. */
async function renderFiles(edit: unknown, { workspace }: Context) {
  const files: { path: string; edits: number; diff: string }[] = []
  for (const file of readWorkspaceEdit(edit, workspace.root)) {
    const { path, edits } = file
    if (!workspace.isVisible(path) || path.split('/').includes('node_modules'))
      throw createRenameError(`${visibleLine(path)} may not be changed`)
    const before = await workspace.readText(path)
    const after = applyTextEdits(before, file)
    const diff = diffTexts(path, Buffer.from(before), Buffer.from(after), { lines: Infinity, bytes: Infinity })
    if (diff === undefined) throw createRenameError(`${visibleLine(path)} is too large to compare`)
    if (before !== after) files.push({ path, edits: edits.length, diff })
  }
  return files
}
