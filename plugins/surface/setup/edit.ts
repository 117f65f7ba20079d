import type { EntryChange } from './document.js'
import { editJson } from './json.js'
import { editToml } from './toml.js'

/** The format of the settings of a client. */
export interface SettingsFormat {
  /** `jsonc`: with comments and trailing commas. */
  format: 'toml' | 'json' | 'jsonc'
  /** The keys that lead to the object with one entry for each server. */
  path: string[]
}

/**
 * Returns the settings text with our entry, or without it when `entry` is undefined. All other text stays unchanged,
 * including comments. Returns undefined if nothing is left. Throws for an invalid text.
 */
export async function editSettings(
  text: string | undefined,
  { format, path }: SettingsFormat,
  entry: EntryChange,
): Promise<string | undefined> {
  const byteOrderMark = text?.startsWith('\ufeff') ? '\ufeff' : ''
  const bare = text?.slice(byteOrderMark.length) ?? ''
  const after =
    format === 'toml' ? await editToml(bare, path, entry) : await editJson(bare, path, entry, format === 'jsonc')
  return after === undefined ? undefined : after === bare ? text : byteOrderMark + after
}
