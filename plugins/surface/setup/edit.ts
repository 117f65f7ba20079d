import type { Wanted } from './document.js'
import { editJson } from './json.js'
import { editToml } from './toml.js'

/** How a client writes its settings down. */
export interface SettingsFormat {
  /** `jsonc`: with comments and trailing commas. */
  format: 'toml' | 'json' | 'jsonc'
  /** Keys of the object that holds one entry a server. */
  path: string[]
}

/**
 * The text of a client's settings with our entry in it, or without it when `entry` is absent; everything else stays as it is, comments
 * too. Nothing left = `undefined`. Throws when the text is not what it should be: somebody's file is never guessed at.
 */
export async function edit(
  text: string | undefined,
  { format, path }: SettingsFormat,
  entry: Wanted,
): Promise<string | undefined> {
  const mark = text?.startsWith('\ufeff') ? '\ufeff' : ''
  const bare = text?.slice(mark.length) ?? ''
  const after =
    format === 'toml' ? await editToml(bare, path, entry) : await editJson(bare, path, entry, format === 'jsonc')
  return after === undefined ? undefined : after === bare ? text : mark + after
}
