import { visibleLine } from '../../../core/index.js'
import { pluralize } from '../../lib/base/index.js'

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

interface ListRow {
  path: string
  type: string
  matches?: number
  size?: number
}

/** Renders an entry of a list, with its number of matches, or with its size. */
export function renderRow({ path, type, matches, size }: ListRow, isSized: boolean): string {
  const more = matches !== undefined ? `: ${pluralize(matches, 'match', 'matches')}` : isSized ? `: ${size} bytes` : ''
  return visibleLine(path) + (type === 'dir' ? '/' : '') + more
}
