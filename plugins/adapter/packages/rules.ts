import { join } from 'node:path'
import { toText } from '../../../core/base/index.js'
import type { JsonObject } from '../../../core/index.js'
import { isObject } from './objects.js'
import type { Package } from './package.js'
import { readToml } from './toml.js'

const words: Record<string, string> = {
  run_shell_command: 'Bash', read_file: 'Read', read_many_files: 'Read', search_file_content: 'Grep', grep_search: 'Grep', glob: 'Glob', list_directory: 'Glob',
  write_file: 'Write', replace: 'Edit', web_fetch: 'WebFetch', google_web_search: 'WebSearch',
}
/** A part of a command line that means itself in a rule of ours. */
const plain = /^[\w./:=@+ -]+$/

export function addRules(found: Package, excluded: readonly string[], file: string): void {
  const deny: string[] = []
  const ask: string[] = []
  const unclear: string[] = []
  for (const text of excluded) {
    const [, name = '', prefix] = /^(\w+)(?:\((.*)\))?$/s.exec(text.trim()) ?? []
    judge(name, prefix, deny, text)
  }
  let from = file
  for (const path of found.files('policies', '.toml')) {
    const place = join(found.place.root, 'policies', path)
    const rules = readToml(found, place)?.['rule']
    for (const rule of (Array.isArray(rules) ? rules : []).filter(isObject)) {
      from = place
      add(rule, path)
    }
  }
  if (deny.length + ask.length > 0) found.addManifest('rules', { kind: 'policy', rules: { ...(deny.length > 0 && { deny: [...new Set(deny)] }), ...(ask.length > 0 && { ask: [...new Set(ask)] }) } }, from)
  found.unsupported({ 'Rules with more than a tool and the beginning of a command': unclear }, file)

  /** A rule that says less than ours can is asked about wherever it might have meant the call. */
  function judge(name: string, prefix: string | undefined, into: string[], shown: string): void {
    const word = Object.hasOwn(words, name) ? words[name] : undefined
    if (word === undefined) return void unclear.push(shown)
    if (prefix === undefined || prefix === '') return void into.push(word)
    if (word === 'Bash' && plain.test(prefix)) return void into.push(`Bash(${prefix.trim()} *)`)
    unclear.push(shown)
    ask.push(word)
  }
  function add({ toolName, commandPrefix, commandRegex, argsPattern, mcpName, decision }: JsonObject, path: string): void {
    if (decision === 'allow') return
    const into = decision === 'deny' ? deny : ask
    if (typeof mcpName === 'string') {
      const rules = [toolName ?? '*'].flat().map((tool) => `mcp__plugin_${found.place.plugin}_${mcpName}__${toText(tool)}`)
      for (const rule of rules) if (/^[\w*.-]+$/.test(rule) && argsPattern === undefined) into.push(rule)
      else unclear.push(`${path}: ${rule}`)
      return
    }
    for (const tool of [toolName ?? '*'].flat().map(toText)) {
      const narrower = commandRegex ?? argsPattern
      if (narrower !== undefined) judge(tool, `(${toText(narrower)})`, into, `${path}: ${tool}`)
      else for (const prefix of [commandPrefix].flat()) judge(tool, prefix === undefined ? undefined : toText(prefix), into, `${path}: ${tool}`)
    }
  }
}
