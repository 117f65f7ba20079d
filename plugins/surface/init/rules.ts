import { isObject } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { ownText } from '../../lib/own_files/index.js'
import type { RepositoryFacts } from './repository.js'

const most = { rules: 8, bytes: 256 * 1024 }
const runners =
  /^(?:npm|pnpm|yarn|bun|deno|cargo|go|make|just|pytest|tox|ruff|mypy|uv|poetry|mvn|gradle|\.\/gradlew|dotnet|mix|bundle|rake|rspec|ctest|cmake|tsc|eslint|vitest|jest|composer|phpunit|python3? -m) /
const proves =
  /(?:^|[\s:.-])(?:build|compile|tests?|lint|check|typecheck|vet|clippy|ruff|pytest|mypy|tox|tsc|eslint|vitest|jest|rspec|phpunit|ctest|fmt|format)(?=$|[\s:.-])/

/** The commands of a repository that build or prove it, in plain words: those of its files, and those that an AGENTS.md of its own names. */
export async function provingCommands({ commands }: RepositoryFacts, workspace: Workspace): Promise<string[]> {
  const text = await workspace.readText('AGENTS.md', { max_bytes: most.bytes }).catch(() => '')
  const all = [
    ...commands.map(({ command }) => command),
    ...namedIn(text).filter((command) => runners.test(`${command} `) && proves.test(command)),
  ]
  // A word that a pattern would take for more than itself cannot be said by a rule.
  return [...new Set(all)]
    .filter((command) => /^[\w./:@=+,%-]+(?: [\w./:@=+,%-]+)*$/.test(command) && command.length <= 80)
    .slice(0, most.rules)
}

/** What stands between backticks in items of lists, and the lines of blocks of code. */
function namedIn(text: string): string[] {
  const found: string[] = []
  let isBlock = false
  for (const line of text.split(/\r?\n/)) {
    if (/^\s*(?:```|~~~)/.test(line)) isBlock = !isBlock
    else if (isBlock)
      found.push(
        line
          .replace(/^\s*\$ /, '')
          .replace(/\s+#.*$/, '')
          .trim(),
      )
    else if (/^\s*(?:[-*+]|\d+\.)\s/.test(line))
      found.push(...[...line.matchAll(/`([^`]+)`/g)].map(([, command]) => command!.trim()))
  }
  return found
}

/** The rules that allow the commands and that the user's own settings lack, and the list as it stands there. */
export async function lackingRules(
  commands: readonly string[],
  file: string,
): Promise<{ own: unknown[]; missing: string[] }> {
  const { parse } = await import('yaml')
  const policy = attempt(() => parse(ownText(file) ?? '') as unknown)
  const list = isObject(policy) && isObject(policy['policy']) ? policy['policy']['allow'] : undefined
  const own = Array.isArray(list) ? (list as unknown[]) : []
  const said = own.map((rule) => (isObject(rule) ? rule['rule'] : rule))
  return { own, missing: commands.map((command) => `Bash(${command})`).filter((rule) => !said.includes(rule)) }
}

/** Settings that cannot be read are told of when they are to be changed. */
function attempt<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
