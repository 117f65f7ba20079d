import { isUtf8 } from 'node:buffer'
import type { Handle, Workspace } from '../../../core/index.js'
import { MAX_PARSED_BYTES, MAX_SEARCHED_BYTES, openIfReadable, tooLargeToParse } from '../../lib/search/index.js'
import type { Language } from '../../lib/syntax/index.js'
import type { SourceText } from './in_process.js'
import type { codeIn } from './pages.js'
import type { StructuralSubject } from './subjects.js'

type SubjectOpener = ReturnType<Workspace['createFileOpener']>

export interface OpenSubject {
  path: string
  handle: Handle
  /** By which the program tells the language: one that it knows, whatever the file is called. */
  extension: string
  /** The language of the file, where what is searched is embedded in it. */
  host: string | undefined
}

/** Opens files; `unread` and `large` take the others. Throws VT_INPUT_TOO_LARGE for a named one. */
export async function openAll(
  opener: SubjectOpener,
  files: StructuralSubject[],
  language: Language,
  named: string,
  passed: { unread: string[]; large: string[] },
): Promise<OpenSubject[]> {
  const opened: OpenSubject[] = []
  try {
    for (const { path, host } of files) {
      const handle = await openIfReadable(opener, path, passed.unread)
      if (!handle) continue
      const { extensions } = host ?? language
      if (handle.stat.bytes > (path === named ? MAX_SEARCHED_BYTES : MAX_PARSED_BYTES)) {
        passed.large.push(path)
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

export const sizeOfOpen = (opened: OpenSubject[]): number =>
  opened.reduce((sum, { handle }) => sum + handle.stat.bytes, 0)

/** Whether comments in files tell ast-grep to pass over matches, as rules do and `run` does not. */
export async function hidesMatches(opened: OpenSubject[]): Promise<boolean> {
  for (const { handle } of opened)
    if ((await handle.read(0, handle.stat.bytes)).includes('ast-grep-ignore')) return true
  return false
}

/** The texts of files, or the code that pages embed; `unread` and `unparsed` take the others. */
export async function* textsOf(
  opened: OpenSubject[],
  unread: string[],
  pieces: ((text: string) => ReturnType<typeof codeIn>) | undefined,
  unparsed: Set<string>,
): AsyncGenerator<SourceText> {
  for (const { path, handle } of opened) {
    const bytes = await handle.read(0, handle.stat.bytes)
    const text = isUtf8(bytes) ? bytes.toString() : undefined
    const code = text === undefined ? undefined : pieces?.(text)
    if (text === undefined) unread.push(`${path}: it is no UTF-8`)
    else if (!pieces) yield { path, text }
    else if (code === undefined) unparsed.add(path)
    else if (code !== 'none') yield { path, text, code }
  }
}
