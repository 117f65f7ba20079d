import { ok } from 'vtcode'

/** Files are opened through the context, which keeps to the workspace. */
export default async function {{camel}}({ input }, context) {
  const text = await context.workspace.readText(input.path)
  const lines = text.split('\n').length - (text.endsWith('\n') ? 1 : 0)
  const words = text.split(/\s+/).filter(Boolean).length
  return ok({ lines, words }, { text: `${lines} lines, ${words} words` })
}
