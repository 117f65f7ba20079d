import { visibleLine } from '../../../core/index.js'

/** Renders entries as a tree: two spaces a level, directories with `/`, `… (+N)` for N entries that are not shown. */
export function renderTree(
  items: { path: string; type: string }[],
  base: string,
  deeper: Map<string, number>,
  more: number,
): string {
  const root = base === '.' ? 0 : base.split('/').length
  const lines = items.flatMap(({ path, type }) => {
    const indent = '  '.repeat(path.split('/').length - root - 1)
    const line = indent + visibleLine(path.slice(path.lastIndexOf('/') + 1)) + (type === 'dir' ? '/' : '')
    const below = deeper.get(path)
    return below ? [line, `${indent}  … (+${below})`] : [line]
  })
  return [...lines, ...(more > 0 ? [`… (+${more})`] : [])].join('\n')
}
