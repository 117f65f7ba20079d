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
  const sections = text.split(/[\r\n\u2028\u2029]/).flatMap((line) => {
    const [, verb, path] = /^\*{3}\s*((?:Add|Update|Delete)\s+File|Move\s+to):\s*(\S.*)$/i.exec(line.trim()) ?? []
    return path === undefined ? [] : [{ path, is_new: /^(add|move)/i.test(verb!) }]
  })
  const made = new Set(
    [...text.matchAll(/^--- "?\/dev\/null[^\n]*\n\+\+\+ "?([^\t\n"]+)/gm)].map(([, path]) => path!.trim()),
  )
  const diffs = [...text.matchAll(/^(---|\+\+\+|rename from|rename to|copy to) "?([^\t\n"]+)/gm)].map(
    ([, verb, path]) => ({ path: path!.trim(), is_new: made.has(path!.trim()) || verb!.endsWith(' to') }),
  )
  return [
    ...sections,
    ...diffs
      .filter(({ path }) => path !== '/dev/null')
      .flatMap(({ path, is_new }) => [
        { path, is_new },
        { path: path.replace(/^[ab]\//, ''), is_new },
      ]),
  ]
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
