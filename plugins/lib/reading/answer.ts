import { ok, type Call, type JsonObject, type Next, type Success } from '../../../core/shapes/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { nextCall } from '../base/index.js'
import { addNotes, explainShownText } from './shown_notes.js'
import type { ReadInput } from './request.js'

/** Returns the call that reads another part of the file. */
export function createNextRead({ given }: Call<ReadInput>, fields: JsonObject): Next {
  const { max_bytes, offset_lines, page_size_lines, end_line, offset_bytes, page_size_bytes, pages, ...rest } = given
  return nextCall('read', { ...rest, ...fields })
}

/** Returns the line that names the shown part and the next position, if more follows. */
export function formatPosition(shown: string, next: Next | undefined): string | undefined {
  const [field, value] = Object.entries(next?.input ?? {}).find(([name]) => name.startsWith('offset_')) ?? []
  return next && `[${shown}; next ${field}=${value}]`
}

/** Creates the answer about a file with its text for a model: the content, and the next position if more follows. */
export function createFileAnswer(
  file: Handle,
  output: JsonObject & { content: string },
  shown: string,
  next?: Next,
): Success {
  const { content } = output
  return ok(
    {
      path: file.path,
      content_kind: 'text',
      ...output,
      has_more: next !== undefined,
      size_bytes: file.stat.bytes,
      ...(file.resolved !== file.path && { resolved_path: file.resolved }),
      modified: new Date(file.stat.mtime_ms).toISOString(),
      ...(next && { next }),
    },
    { text: addNotes(content, [explainShownText(content, file.stat.bytes), formatPosition(shown, next)]) },
  )
}
