import { join } from 'node:path'
import { toText } from '../../../core/text/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { readToml } from './toml.js'

const RULE_TOOLS: Record<string, string> = {
  run_shell_command: 'Bash',
  read_file: 'Read',
  read_many_files: 'Read',
  search_file_content: 'Grep',
  grep_search: 'Grep',
  glob: 'Glob',
  list_directory: 'Glob',
  write_file: 'Write',
  replace: 'Edit',
  web_fetch: 'WebFetch',
  google_web_search: 'WebSearch',
}
/** A command prefix without characters that are special in our rules. */
const PLAIN_COMMAND = /^[\w./:=@+ -]+$/

export function addRules(found: Package, excluded: readonly string[], file: string): void {
  const all = new TranslatedRules(found.place.plugin)
  const { deny, ask, unclear } = all
  for (const text of excluded) {
    const [, name = '', prefix] = /^(\w+)(?:\((.*)\))?$/s.exec(text.trim()) ?? []
    all.addCommand(name, prefix, deny, text)
  }
  let from = file
  for (const path of found.listPackageFiles('policies', '.toml')) {
    const place = join(found.place.root, 'policies', path)
    const rules = readToml(found, place)?.['rule']
    for (const rule of (Array.isArray(rules) ? rules : []).filter(isObject)) {
      from = place
      all.add(rule, path)
    }
  }
  const lists = Object.entries({ deny, ask }).filter(([, rules]) => rules.length > 0)
  const rules = Object.fromEntries(lists.map(([verdict, texts]) => [verdict, [...new Set(texts)]]))
  if (lists.length > 0) found.addManifest('rules', { kind: 'policy', rules }, from)
  found.reportUnsupported({ 'Rules with more than a tool and the beginning of a command': unclear }, file)
}

/** Rules of another program in our form, and those that our form cannot express. */
class TranslatedRules {
  readonly deny: string[] = []
  readonly ask: string[] = []
  readonly unclear: string[] = []

  constructor(private readonly plugin: string) {}

  /** Adds a rule for a tool and a command prefix. A rule that our form cannot express asks about the tool. */
  addCommand(name: string, prefix: string | undefined, into: string[], shown: string): void {
    const word = Object.hasOwn(RULE_TOOLS, name) ? RULE_TOOLS[name] : undefined
    if (word === undefined) return void this.unclear.push(shown)
    if (prefix === undefined || prefix === '') return void into.push(word)
    if (word === 'Bash' && PLAIN_COMMAND.test(prefix)) return void into.push(`Bash(${prefix.trim()} *)`)
    this.unclear.push(shown)
    this.ask.push(word)
  }

  add(rule: JsonObject, path: string): void {
    const { toolName, commandPrefix, commandRegex, argsPattern, mcpName, decision } = rule
    if (decision === 'allow') return
    const into = decision === 'deny' ? this.deny : this.ask
    const tools = [toolName ?? '*'].flat().map(toText)
    const pattern = commandRegex ?? argsPattern
    const declared = commandPrefix === undefined ? [undefined] : [commandPrefix].flat().map(toText)
    const prefixes = pattern === undefined ? declared : [`(${toText(pattern)})`]
    for (const tool of tools) {
      if (typeof mcpName === 'string') this.#addServerTool(`${mcpName}__${tool}`, into, argsPattern === undefined, path)
      else for (const prefix of prefixes) this.addCommand(tool, prefix, into, `${path}: ${tool}`)
    }
  }

  #addServerTool(tool: string, into: string[], hasWholeRule: boolean, path: string): void {
    const rule = `mcp__plugin_${this.plugin}_${tool}`
    if (/^[\w*.-]+$/.test(rule) && hasWholeRule) into.push(rule)
    else this.unclear.push(`${path}: ${rule}`)
  }
}
