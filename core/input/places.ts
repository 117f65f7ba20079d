import type { Effect, JsonObject, Place } from '../shapes/index.js'
import type { InputShape } from '../registry/index.js'
import type { OpenWorkspace } from '../workspace/index.js'

/** Every path that a call names, in its properties or, where it writes, in the text of a patch, and where each leads now. */
export function placesOf(
  input: JsonObject,
  shape: InputShape,
  effects: readonly Effect[],
  workspace: OpenWorkspace,
): Place[] {
  const named = new Set<string>()
  for (const [name, format] of shape.paths) {
    if (format === 'workspace-path')
      for (const path of [input[name] ?? []].flat()) if (typeof path === 'string') named.add(path)
  }
  if (effects.includes('write')) for (const { path } of patchedPaths(input)) named.add(path)
  return Array.from(named, (path) => placeOf(path, workspace))
}

/**
 * The files that a patch names in its own text, in either of the two notations, and whether it makes them. Read generously: a name
 * too many only asks once more.
 */
export function patchedPaths(input: Readonly<JsonObject>): { path: string; is_new: boolean }[] {
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

// Links are followed to where something would be made, too: a link may lead to what is not there yet.
function placeOf(path: string, workspace: OpenWorkspace): Place {
  let given = path
  try {
    given = workspace.normalize(path)
    return { given, ...workspace.locate(given) }
  } catch {
    // A path that leads out is left to the tool, which refuses it with the code that says so.
    return { given, resolved: given, entry: given }
  }
}
