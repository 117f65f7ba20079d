/** A PDF may begin with bytes of others. */
export const holdsPdf = (head: Buffer): boolean => head.subarray(0, 1024).includes('%PDF-', 0, 'latin1')

/** The media type of an image by its signature; `undefined` for anything else. */
export function imageType(head: Buffer): string | undefined {
  const starts = (text: string, at = 0) => head.toString('latin1', at, at + text.length) === text
  if (starts('\x89PNG\r\n\x1a\n')) return 'image/png'
  if (starts('\xff\xd8\xff')) return 'image/jpeg'
  if (starts('GIF87a') || starts('GIF89a')) return 'image/gif'
  if (starts('RIFF') && starts('WEBP', 8)) return 'image/webp'
  return undefined
}
