import { ok, type Call, type JsonObject, type Next, type Success } from '../../../core/shapes/index.js'
import type { Handle } from '../../../core/workspace/index.js'
import { nextCall } from '../base/index.js'
import type { ReadInput } from './request.js'

/** Returns the call that reads another part of the file. */
export function createNextRead({ given }: Call<ReadInput>, fields: JsonObject): Next {
  const { max_bytes, offset_lines, page_size_lines, end_line, offset_bytes, page_size_bytes, pages, ...rest } = given
  return nextCall('read', { ...rest, ...fields })
}

/** Creates the answer about a file with its text for a model: the content, and the next position if more follows. */
export function createFileAnswer(
  file: Handle,
  output: JsonObject & { content: string },
  shown: string,
  next?: Next,
): Success {
  const { content } = output
  const [field, value] = Object.entries(next?.input ?? {}).find(([name]) => name.startsWith('offset_')) ?? []
  const tail = next ? `${content === '' || content.endsWith('\n') ? '' : '\n'}[${shown}; next ${field}=${value}]` : ''
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
    { text: content + tail },
  )
}
