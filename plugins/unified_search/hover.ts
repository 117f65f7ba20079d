import type { Hover } from 'vscode-languageserver-protocol'
import { ok, visible, type Handler } from '../../core/index.js'
import { cut } from '../lib/base/index.js'
import { askAboutSymbol, type TargetInput } from '../lib/symbols/index.js'

/** Characters of an answer. */
const MAX_TEXT = 8_000

/** Shows the type and the documentation of a symbol. */
const hover: Handler<TargetInput> = async ({ input }, context) => {
  const query = { needs: 'hoverProvider', ready: false } as const
  return askAboutSymbol(input, context, query, async (place, { send }, { path, line, character }) => {
    const answer = (await send('textDocument/hover', place)) as Partial<Hover> | null
    const whole = [answer?.contents].flat().map(readContent).filter(Boolean).join('\n\n')
    const { text, cut: truncated } = cut(visible(whole.trim()), MAX_TEXT)
    const output = { path, line_number: line + 1, column: character + 1, content: text, truncated }
    return ok(output, { text: text === '' ? 'The language server knows nothing about it.' : text })
  })
}
export default hover

/** Returns the text of a part: plain, with a kind, or code with its language. */
function readContent(part: unknown): string {
  if (typeof part === 'string') return part
  const { value } = (part ?? {}) as { value?: unknown }
  return typeof value === 'string' ? value : ''
}
