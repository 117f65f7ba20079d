/** What a page says it is: the type without its parameters, and the charset if one is named. */
export interface ContentType {
  type: string
  charset?: string
}

// A type is told outside of the marks around a page's text, so it can be nothing but a type (RFC 9110, 8.3.1; names of 127 characters at most by RFC 6838).
const mediaType = /^[!#$%&'*+.^`|~\w-]{1,127}\/[!#$%&'*+.^`|~\w-]{1,127}$/

export function readContentType(header: string | undefined): ContentType {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim())
  const charset = parameters
    .map((part) => /^charset\s*=\s*["']?([^"'\s]+)/i.exec(part)?.[1])
    .find((name) => name !== undefined)
  return { type: mediaType.test(type) ? type.toLowerCase() : '', ...(charset !== undefined && { charset }) }
}

/** A body as text: by its byte order mark, the charset of the header, what the document says of itself, else UTF-8, else windows-1252. */
export function decodeText(bytes: Buffer, { type, charset }: ContentType): string {
  const decoder =
    decoderOf(markOf(bytes)) ??
    decoderOf(charset) ??
    decoderOf(saidInside(bytes, type)) ??
    new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252')
  // The body may be cut in the middle of a character.
  return decoder.decode(bytes, { stream: true })
}

function markOf(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

function decoderOf(label: string | undefined) {
  try {
    return label === undefined ? undefined : new TextDecoder(label)
  } catch {
    // A charset nobody knows says nothing.
    return undefined
  }
}

/** The charset of a `<meta>` or an XML declaration; both stand within the first kilobyte and cannot be in UTF-16. */
function saidInside(bytes: Buffer, type: string): string | undefined {
  const head = bytes.subarray(0, 1024).toString('latin1')
  if (type && !/(?:ht|x)ml/.test(type)) return undefined
  const name = (
    /<meta[^>]{0,200}charset\s*=\s*["']?\s*([\w-]+)/i.exec(head) ??
    /^\s*<\?xml[^>]{0,200}encoding\s*=\s*["']([\w-]+)/i.exec(head)
  )?.[1]
  return name && /^utf-?16/i.test(name) ? 'utf-8' : name
}

function isUtf8(bytes: Buffer): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(bytes, { stream: true })
    return true
  } catch {
    return false
  }
}

/** Bytes that no text has, whatever they are sent as: those of a PDF, or a NUL near the start, outside of UTF-16. */
export function isBinaryBody(bytes: Buffer, { charset = '' }: ContentType): boolean {
  return (
    isPdf(bytes) ||
    (bytes.subarray(0, 8192).includes(0) && !(markOf(bytes) ?? charset.toLowerCase()).startsWith('utf-16'))
  )
}

export const isPdf = (bytes: Buffer): boolean => bytes.subarray(0, 5).toString('latin1') === '%PDF-'
