import { ok, type Handler } from 'vtcode'
// `vtcode plugins types .` writes these from the manifest.
import type { {{pascal}}Input, {{pascal}}Output } from './types.js'

/** Files are opened through the context, which keeps to the workspace. */
const {{camel}}: Handler<{{pascal}}Input, {{pascal}}Output> = async ({ input }, { workspace }) => {
  const text = await workspace.readText(input.path)
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  const words = text.split(/\s+/).filter(Boolean).length
  return ok({ lines, words }, { text: `${lines} lines, ${words} words` })
}
export default {{camel}}
