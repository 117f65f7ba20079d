/** Declared type of a page: the media type without parameters, and the charset if given. */
export interface ContentType {
  type: string
  charset?: string
}

// The type is shown outside the fence around page text, so it must be a plain media type (RFC 9110, 8.3.1; names of at
// most 127 characters by RFC 6838).
const MEDIA_TYPE = /^[!#$%&'*+.^`|~\w-]{1,127}\/[!#$%&'*+.^`|~\w-]{1,127}$/

export function parseContentType(header: string | undefined): ContentType {
  const [type = '', ...parameters] = (header ?? '').split(';').map((part) => part.trim())
  const charset = parameters
    .map((part) => /^charset\s*=\s*["']?([^"'\s]+)/i.exec(part)?.[1])
    .find((name) => name !== undefined)
  return { type: MEDIA_TYPE.test(type) ? type.toLowerCase() : '', ...(charset !== undefined && { charset }) }
}

/**
 * Decodes a body by its byte order mark, the charset of the header, the declaration in the document, else as UTF-8,
 * else as windows-1252.
 */
export function decodeText(bytes: Buffer, { type, charset }: ContentType): string {
  const decoder =
    createDecoder(detectByteOrderMark(bytes)) ??
    createDecoder(charset) ??
    createDecoder(findDeclaredCharset(bytes, type)) ??
    new TextDecoder(isUtf8(bytes) ? 'utf-8' : 'windows-1252')
  // The body may end inside a character.
  return decoder.decode(bytes, { stream: true })
}

function detectByteOrderMark(bytes: Buffer): string | undefined {
  if (bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf) return 'utf-8'
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'utf-16le'
  return bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be' : undefined
}

function createDecoder(label: string | undefined) {
  try {
    return label === undefined ? undefined : new TextDecoder(label)
  } catch {
    // An unknown charset is ignored.
    return undefined
  }
}

/**
 * Returns the charset of a `<meta>` or an XML declaration. Both lie within the first kilobyte and cannot be in UTF-16.
 */
function findDeclaredCharset(bytes: Buffer, type: string): string | undefined {
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

/**
 * Checks for bytes that no text contains, whatever the declared type: a PDF, or a NUL near the start outside UTF-16.
 */
export function isBinaryBody(bytes: Buffer, { charset = '' }: ContentType): boolean {
  return (
    isPdf(bytes) ||
    (bytes.subarray(0, 8192).includes(0) && !(detectByteOrderMark(bytes) ?? charset.toLowerCase()).startsWith('utf-16'))
  )
}

export const isPdf = (bytes: Buffer): boolean => bytes.subarray(0, 5).toString('latin1') === '%PDF-'
