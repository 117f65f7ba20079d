import type { Item } from '../base/index.js'

/** What a run did, for its last line. */
export interface Done {
  files: Set<string>
  commands: number
}

export function count(done: Done, item: Item): void {
  if (item.type === 'file_change') for (const { path } of item.changes) done.files.add(path)
  if (item.type === 'tool_invocation' && item.effects.includes('exec') && item.outcome === 'success') done.commands += 1
}

/** `, 2 files changed, 1 command`; nothing where nothing was done. */
export function shownDone({ files, commands }: Done): string {
  const counted = (number: number, one: string, many: string) => (number === 0 ? '' : `, ${number} ${number === 1 ? one : many}`)
  return counted(files.size, 'file changed', 'files changed') + counted(commands, 'command', 'commands')
}
