import { parseGitHeader, parseGitPath } from '../text/index.js'
import type { Effect, JsonObject, CallPath } from '../shapes/index.js'
import type { InputShape } from '../registry/index.js'
import type { OpenWorkspace } from '../workspace/index.js'

/**
 * Lists every path of a call, from its properties and, if it writes, from the text of a patch, with its present target.
 */
export function listCallPaths(
  input: JsonObject,
  shape: InputShape,
  effects: readonly Effect[],
  workspace: OpenWorkspace,
): CallPath[] {
  const named = new Set<string>()
  for (const [name, format] of shape.paths) {
    if (format === 'workspace-path')
      for (const path of [input[name] ?? []].flat()) if (typeof path === 'string') named.add(path)
  }
  if (effects.includes('write')) for (const { path } of listPatchedPaths(input)) named.add(path)
  return Array.from(named, (path) => locatePath(path, workspace))
}

/**
 * Lists the files in the text of a patch, in either notation, and whether the patch creates them. An extra name does no
 * harm: it only asks once more.
 */
export function listPatchedPaths(input: Readonly<JsonObject>): { path: string; is_new: boolean }[] {
  const text = [input['input'], input['patch']].filter((value) => typeof value === 'string').join('\n')
  if (text === '') return []
  const lines = text.split(/\r\n|[\r\n\u2028\u2029]/)
  return lines.flatMap((line, index) => {
    const [, verb, path] = /^\*{3}\s*((?:Add|Update|Delete)\s+File|Move\s+to):\s*(\S.*)$/i.exec(line.trim()) ?? []
    if (path !== undefined) return [{ path, is_new: /^(add|move)/i.test(verb!) }]
    const is_new =
      /^(?:rename|copy) to /.test(line) ||
      /^--- "?\/dev\/null/.test(lines[index - 1] ?? '') ||
      (lines[index + 1] ?? '').startsWith('new file ')
    return listDiffPaths(line)
      .filter((name) => name !== '/dev/null')
      .flatMap((name) => [name.replace(/^[abciow12]\//, ''), name].map((path) => ({ path, is_new })))
  })
}

/** Lists the paths in a header line of a unified diff, with the prefixes of git. */
function listDiffPaths(line: string): readonly string[] {
  if (line.startsWith('diff --git ')) return parseGitHeader(line) ?? []
  const [, name] = /^(?:---|\+\+\+|(?:rename|copy) (?:from|to)) (.+)$/.exec(line) ?? []
  return name === undefined ? [] : [parseGitPath(name)]
}

// Links are followed to a target that does not exist yet, too.
function locatePath(path: string, workspace: OpenWorkspace): CallPath {
  let given = path
  try {
    given = workspace.normalize(path)
    return { given, ...workspace.locate(given) }
  } catch {
    // The tool rejects a path that leads out, with the right code.
    return { given, resolved: given, entry: given }
  }
}
