import { isAbsolute, relative } from 'node:path'
import type { ContributionInfo, Io } from '../../../core/index.js'
import { pluralize, type PluginRow } from '../../lib/base/index.js'
import { createPaint, formatColumns, toOneLine } from '../../lib/terminal/index.js'

/** Renders a row for each contribution, and for each plugin without one: a package may hold only skills or nothing. */
export function renderList(
  { plugins, contributions }: { plugins: readonly PluginRow[]; contributions: readonly ContributionInfo[] },
  workspace: string,
  io: Io,
): string {
  const { bold } = createPaint(io.stdout, io.env)
  const rows = [
    ...contributions.map(({ id, kind, state, slot, verb = '', layer, file, reason = '' }) => [
      ...[id, kind, state, slot ?? verb, layer],
      ...[shortenPath(file, workspace), toOneLine(reason)],
    ]),
    ...plugins
      .filter((plugin) => plugin.contributions === 0)
      .map(({ name, state, skills, layer, root, reason = '' }) => [
        ...[name, 'plugin', state, pluralize(skills, 'skill'), layer],
        ...[shortenPath(root, workspace), toOneLine(reason)],
      ]),
  ]
  const [head, ...lines] = formatColumns([
    ['plugin', 'kind', 'state', 'serves', 'layer', 'file', 'reason'],
    ...rows,
  ]).split('\n')
  return [bold(head!), ...lines].join('\n')
}

function shortenPath(file: string, workspace: string): string {
  const inside = relative(workspace, file)
  return toOneLine(inside.startsWith('..') || isAbsolute(inside) ? file : inside)
}
