import { isObject } from '../../../core/shapes/index.js'
import type { Workspace } from '../../../core/workspace/index.js'
import { readOwnFile } from '../../lib/own_files/index.js'
import type { RepositoryFacts } from './repository.js'

const LIMITS = { rules: 8, bytes: 256 * 1024 }
const RUNNERS = new RegExp(
  '^(?:npm|pnpm|yarn|bun|deno|cargo|go|make|just|pytest|tox|ruff|mypy|uv|poetry|mvn|gradle|\\./gradlew|dotnet|mix|' +
    'bundle|rake|rspec|ctest|cmake|tsc|eslint|vitest|jest|composer|phpunit|python3? -m) ',
)
const CHECK_WORDS = new RegExp(
  '(?:^|[\\s:.-])(?:build|compile|tests?|lint|check|typecheck|vet|clippy|ruff|pytest|mypy|tox|tsc|eslint|vitest|' +
    'jest|rspec|phpunit|ctest|fmt|format)(?=$|[\\s:.-])',
)

/** Returns the commands that build or check a repository, from its project files and its AGENTS.md. */
export async function findCheckCommands({ commands }: RepositoryFacts, workspace: Workspace): Promise<string[]> {
  const text = await workspace.readText('AGENTS.md', { max_bytes: LIMITS.bytes }).catch(() => '')
  const all = [
    ...commands.map(({ command }) => command),
    ...extractCommands(text).filter((command) => RUNNERS.test(`${command} `) && CHECK_WORDS.test(command)),
  ]
  // A rule cannot express words that contain characters of a pattern.
  return [...new Set(all)]
    .filter((command) => /^[\w./:@=+,%-]+(?: [\w./:@=+,%-]+)*$/.test(command) && command.length <= 80)
    .slice(0, LIMITS.rules)
}

/** Extracts code spans in items of lists, and lines of code blocks. */
function extractCommands(text: string): string[] {
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

/** Returns the rules for the commands that the user's own settings lack, and the existing list there. */
export async function findMissingRules(
  commands: readonly string[],
  file: string,
): Promise<{ own: unknown[]; missing: string[] }> {
  const { parse } = await import('yaml')
  const policy = parseSafely(() => parse(readOwnFile(file) ?? '') as unknown)
  const list = isObject(policy) && isObject(policy['policy']) ? policy['policy']['allow'] : undefined
  const own = Array.isArray(list) ? (list as unknown[]) : []
  const existing = own.map((rule) => (isObject(rule) ? rule['rule'] : rule))
  return { own, missing: commands.map((command) => `Bash(${command})`).filter((rule) => !existing.includes(rule)) }
}

/** Returns `undefined` for invalid settings; the later change of that file reports the error. */
function parseSafely<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    return undefined
  }
}
