import { isUtf8 } from 'node:buffer'
import type { Handle, Workspace } from '../../../core/index.js'
import { MAX_PARSED_BYTES, MAX_SEARCHED_BYTES, openIfReadable, tooLargeToParse } from '../../lib/search/index.js'
import type { Language, extractCode } from '../../lib/syntax/index.js'
import type { SourceText } from './in_process.js'
import type { StructuralSubject } from './subjects.js'

type SubjectOpener = ReturnType<Workspace['createFileOpener']>

export interface OpenSubject {
  path: string
  handle: Handle
  /** Extension by which the program detects the language; may differ from that of the file. */
  extension: string
  /** Language of the file, if the searched code is embedded in it. */
  host: string | undefined
}

/** Opens files; adds the others to `unread` and `large`. Throws VT_INPUT_TOO_LARGE for a named one. */
export async function openAll(
  opener: SubjectOpener,
  files: StructuralSubject[],
  language: Language,
  named: string,
  skipped: { unread: string[]; large: string[] },
): Promise<OpenSubject[]> {
  const opened: OpenSubject[] = []
  try {
    for (const { path, host } of files) {
      const handle = await openIfReadable(opener, path, skipped.unread)
      if (!handle) continue
      const { extensions } = host ?? language
      if (handle.stat.bytes > (path === named ? MAX_SEARCHED_BYTES : MAX_PARSED_BYTES)) {
        skipped.large.push(path)
        await handle.close()
        if (path === named) throw tooLargeToParse(path, handle.stat.bytes)
      } else opened.push({ path, handle, extension: extensions[0]!, host: host?.id })
    }
    return opened
  } catch (error) {
    await closeAll(opened)
    throw error
  }
}

export async function closeAll(opened: OpenSubject[]): Promise<void> {
  for (const { handle } of opened) await handle.close()
}

export const sumSizes = (opened: OpenSubject[]): number =>
  opened.reduce((sum, { handle }) => sum + handle.stat.bytes, 0)

/** Returns whether a file holds ignore comments of ast-grep, which apply to rules but not to `run`. */
export async function hasIgnoreComments(opened: OpenSubject[]): Promise<boolean> {
  for (const { handle } of opened)
    if ((await handle.read(0, handle.stat.bytes)).includes('ast-grep-ignore')) return true
  return false
}

/** Reads the texts of files, or the code that pages embed; adds the others to `unread` and `unparsed`. */
export async function* readTexts(
  opened: OpenSubject[],
  unread: string[],
  pieces: ((text: string) => ReturnType<typeof extractCode>) | undefined,
  unparsed: Set<string>,
): AsyncGenerator<SourceText> {
  for (const { path, handle } of opened) {
    const bytes = await handle.read(0, handle.stat.bytes)
    const text = isUtf8(bytes) ? bytes.toString() : undefined
    const code = text === undefined ? undefined : pieces?.(text)
    if (text === undefined) unread.push(`${path}: it is not UTF-8`)
    else if (!pieces) yield { path, text }
    else if (code === undefined) unparsed.add(path)
    else if (code !== 'none') yield { path, text, code }
  }
}
