import type { Compactor } from '../../core/index.js'
import { spool as keep } from '../lib/state/index.js'

// What these answer is a page already; cutting it once more would make reading on impossible.
const pages = ['unified_file/read', 'unified_exec/inspect', 'load_skill', 'load_skill_resource', 'unified_search/skill']

/** Text over the limit goes to a file; the reader gets its beginning, its end, its size and how to read on. */
const spool: Compactor = async (result, call, context) => {
  const { output, context: live } = context.settings as { output?: { max_text_bytes?: number }; context?: { dynamic?: { enabled: boolean; tool_output_threshold: number } } }
  const earlier = live?.dynamic?.enabled ? live.dynamic.tool_output_threshold : 0
  const limit = Math.min(output?.max_text_bytes ?? 8192, earlier || Infinity)
  if (!result.ok || result.text === undefined || pages.includes(call.slot)) return result
  if (result.text.length <= limit / 3 || Buffer.byteLength(result.text) <= limit) return result
  const path = await keep(context, call.slot, result.text)
  return { ...result, text: shortened(result.text, limit, path) }
}
export default spool

function shortened(text: string, limit: number, path: string): string {
  const bytes = Buffer.from(text)
  const next = `unified_file {"action":"read","path":"${path}"}`
  const note = (left: number): string => `\n… ${left} of ${bytes.length} bytes left out; the whole text is in ${path}, read it with ${next}\n…`
  const room = Math.max(0, limit - Buffer.byteLength(note(bytes.length)))
  const head = toLine(beginning(bytes.subarray(0, Math.floor((room * 3) / 4))))
  const tail = fromLine(end(bytes.subarray(bytes.length - Math.floor(room / 4))))
  return head + note(bytes.length - Buffer.byteLength(head) - Buffer.byteLength(tail)) + tail
}

// A cut may leave half a character: a streaming decoder keeps it back, and at the start it shows by its continuation bytes.
const beginning = (bytes: Buffer): string => new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true })
const end = (bytes: Buffer): string => bytes.subarray(bytes.findIndex((byte) => (byte & 0xc0) !== 0x80)).toString()

// Whole lines read better, unless the lines are so long that little would be left.
const toLine = (text: string): string => text.slice(0, text.lastIndexOf('\n') > text.length / 2 ? text.lastIndexOf('\n') : undefined)
const fromLine = (text: string): string => {
  const at = text.indexOf('\n')
  return at >= 0 && at < text.length / 2 ? text.slice(at) : text
}
