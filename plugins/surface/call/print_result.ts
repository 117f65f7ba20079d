import { visible, visibleJson } from '../../../core/text/index.js'
import type { ContentBlock, Io, Next, Problem, Result } from '../../../core/index.js'
import { formatCall, createPaint, toOneLine } from '../../lib/terminal/index.js'

/** Prints a result for a person at a terminal: its text to stdout; the error and the next call to stderr. */
export function printResult(result: Result, io: Io): void {
  if (!result.ok) return printProblem(result.error, io)
  const { output, text, content = [] } = result
  const body = text ?? (content.length > 0 ? undefined : JSON.stringify(output, null, 2))
  for (const one of [body, ...content.map(describeBlock)])
    if (one !== undefined && one !== '') io.stdout.write(`${visible(one).trimEnd()}\n`)
  const next = output['next'] as Next | undefined
  if (typeof next?.tool === 'string' && typeof next.input === 'object')
    io.stderr.write(`${createPaint(io.stderr, io.env).dim(`Next: ${formatNextCall(next)}`)}\n`)
}

function printProblem({ code, message, hint, next }: Problem, io: Io): void {
  const { red, dim } = createPaint(io.stderr, io.env)
  io.stderr.write(`vtcode: ${red('error')}: ${toOneLine(`${code}: ${message}`)}\n`)
  if (hint) io.stderr.write(`  ${toOneLine(hint)}\n`)
  if (next) io.stderr.write(`  ${dim(`Next: ${formatNextCall(next)}`)}\n`)
}

const formatNextCall = ({ tool, input }: Next): string => {
  const { action, ...rest } = input
  return visibleJson(typeof action === 'string' ? formatCall(`${tool} ${action}`, rest) : formatCall(tool, input))
}

/** Returns the text of a block, or a placeholder for content that a terminal cannot show. */
function describeBlock(block: ContentBlock): string | undefined {
  if (block.type === 'text') return block.text
  const { mimeType, data, uri } = block as { mimeType?: string; data?: string; uri?: string }
  return (
    `[${block.type}${mimeType ? ` ${mimeType}` : ''}${uri ? ` ${uri}` : ''}` +
    `${data ? `, ${Math.ceil((data.length * 3) / 4 / 1024)} KiB` : ''}; --json prints it]`
  )
}
