import { editBlock } from './block.js'
import type { EntryChange } from './document.js'
import { editJson } from './json.js'
import { editToml } from './toml.js'

/** The format of the settings of a client. */
export interface SettingsFormat {
  /** `jsonc`: with comments and trailing commas; `block`: code, with our lines between two comments. */
  format: 'toml' | 'json' | 'jsonc' | 'block'
  /** The keys that lead to the object with one entry for each server; of a block, the beginning of its comments. */
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
    format === 'block'
      ? editBlock(bare, path[0]!, entry)
      : format === 'toml'
        ? await editToml(bare, path, entry)
        : await editJson(bare, path, entry, format === 'jsonc')
  return after === undefined ? undefined : after === bare ? text : byteOrderMark + after
}
