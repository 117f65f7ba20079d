import type { AutocompleteItem, AutocompleteProvider, AutocompleteSuggestions } from './text/index.js'
import { visibleLine } from '../../core/text/index.js'
import type { SessionOptions, SlashCommand } from './types.js'

/** Completes commands after `/` at the start of a message, and paths after `@`. */
export class MenuCompletion implements AutocompleteProvider {
  constructor(
    public commands: readonly SlashCommand[],
    public files: SessionOptions['files'],
  ) {}

  async getSuggestions(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
  ): Promise<AutocompleteSuggestions | null> {
    const before = (lines[cursorLine] ?? '').slice(0, cursorCol)
    const at = /(?:^|\s)(@\S*)$/.exec(before)?.[1]
    if (at !== undefined) {
      const found = await this.files(at.slice(1)).catch(() => [])
      return found.length > 0
        ? { items: found.map((path) => ({ value: `@${path}`, label: visibleLine(path) })), prefix: at }
        : null
    }
    if (cursorLine > 0 || !before.startsWith('/')) return null
    const space = before.indexOf(' ')
    return space < 0
      ? this.completeCommand(before)
      : this.completeArgument(before.slice(1, space), before.slice(space + 1))
  }

  private completeCommand(prefix: string): AutocompleteSuggestions | null {
    const word = prefix.slice(1).toLowerCase()
    const rank = (name: string): number => (name.startsWith(word) ? 0 : name.includes(word) ? 1 : 2)
    const fitting = this.commands.filter(({ name }) => rank(name) < 2).sort((a, b) => rank(a.name) - rank(b.name))
    const formatLabel = ({ name, arguments: args }: SlashCommand): string =>
      visibleLine(`/${name}${args === undefined ? '' : ` ${args}`}`)
    const items = fitting.map((one): AutocompleteItem => ({
      value: `/${one.name}`,
      label: formatLabel(one),
      description: visibleLine(one.description),
    }))
    return items.length > 0 ? { items, prefix } : null
  }

  private completeArgument(name: string, typed: string): AutocompleteSuggestions | null {
    const { choices = [] } = this.commands.find((one) => one.name === name) ?? {}
    const items = choices
      .filter((choice) => choice.startsWith(typed))
      .map((value) => ({ value, label: visibleLine(value) }))
    return items.length > 0 ? { items, prefix: typed } : null
  }

  applyCompletion(
    lines: string[],
    cursorLine: number,
    cursorCol: number,
    { value }: AutocompleteItem,
    prefix: string,
  ): { lines: string[]; cursorLine: number; cursorCol: number } {
    const line = lines[cursorLine] ?? ''
    // Ignore a menu that was made for an older text.
    if (!line.slice(0, cursorCol).endsWith(prefix) || (prefix.startsWith('/') && cursorCol !== prefix.length))
      return { lines, cursorLine, cursorCol }
    // More text follows a path or a command.
    const put = /^[@/]/.test(value) ? `${value} ` : value
    const head = line.slice(0, cursorCol - prefix.length) + put
    return {
      lines: lines.map((one, at) => (at === cursorLine ? head + line.slice(cursorCol) : one)),
      cursorLine,
      cursorCol: head.length,
    }
  }
}
