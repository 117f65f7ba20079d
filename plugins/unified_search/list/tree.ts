import { visibleLine } from '../../../core/index.js'

/** Entries as a picture: two spaces a level, directories with `/`, `… (+N)` where N entries below or behind are not shown. */
export function tree(
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
