import { deflateSync } from 'node:zlib'

/** A picture of a PDF: its dictionary without length, and its bytes. */
export interface Picture {
  dictionary: string
  data: Buffer
}

/** A JPEG of 16 × 16 grey points: one table for all, four blocks of nothing. */
export const jpeg = Buffer.concat([
  Buffer.from('ffd8ffdb004300', 'hex'),
  Buffer.alloc(64, 1),
  Buffer.from('ffc0000b080010001001011100', 'hex'),
  ...['00', '10'].map((table) => Buffer.concat([Buffer.from(`ffc40014${table}01`, 'hex'), Buffer.alloc(16)])),
  Buffer.from('ffda0008010100003f0000ffd9', 'hex'),
])
export const jpegPicture: Picture = {
  dictionary:
    '/Type /XObject /Subtype /Image /Width 16 /Height 16 /ColorSpace /DeviceGray /BitsPerComponent 8 /Filter /DCTDecode',
  data: jpeg,
}
/** Four red, green, blue and white points. */
export const pointsPicture: Picture = {
  dictionary:
    '/Type /XObject /Subtype /Image /Width 2 /Height 2 /ColorSpace /DeviceRGB /BitsPerComponent 8 /Filter /FlateDecode',
  data: deflateSync(Buffer.from([255, 0, 0, 0, 255, 0, 0, 0, 255, 255, 255, 255])),
}

/** A PDF with these pages, each lines of text or a picture; `trailer` is added to the last dictionary. */
export function pdf(pages: (string | Picture | { content: Buffer; dictionary: string })[], trailer = ''): Buffer {
  const objects: (string | [string, Buffer])[] = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    '',
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
  ]
  const kids: string[] = []
  for (const page of pages) {
    const text = typeof page === 'string'
    const drawn = text ? page.split('\n').map(drawnLine).join('\n') : 'q 100 0 0 100 0 0 cm /Im Do Q'
    let resources = '/Font << /F1 3 0 R >>'
    if (!text && 'data' in page) {
      objects.push([page.dictionary, page.data])
      resources = `/XObject << /Im ${objects.length} 0 R >>`
    }
    objects.push(!text && 'content' in page ? [page.dictionary, page.content] : ['', Buffer.from(drawn, 'latin1')])
    objects.push(
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Resources << ${resources} >> /Contents ${objects.length} 0 R >>`,
    )
    kids.push(`${objects.length} 0 R`)
  }
  objects[1] = `<< /Type /Pages /Kids [${kids.join(' ')}] /Count ${kids.length} >>`
  const parts: Buffer[] = [Buffer.from('%PDF-1.4\n%\xe2\xe3\n', 'latin1')]
  const offsets: number[] = []
  let size = parts[0]!.length
  const add = (part: Buffer): void => {
    parts.push(part)
    size += part.length
  }
  for (const [index, object] of objects.entries()) {
    offsets.push(size)
    const [dictionary, data] =
      typeof object === 'string'
        ? [object, undefined]
        : [`<< ${object[0]} /Length ${object[1].length} >>\nstream\n`, object[1]]
    add(Buffer.from(`${index + 1} 0 obj\n${dictionary}`, 'latin1'))
    if (data) add(Buffer.concat([data, Buffer.from('\nendstream')]))
    add(Buffer.from('\nendobj\n'))
  }
  const start = size
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  add(
    Buffer.from(
      `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${rows}trailer\n<< /Size ${objects.length + 1} /Root 1 0 R ${trailer} >>\nstartxref\n${start}\n%%EOF\n`,
      'latin1',
    ),
  )
  return Buffer.concat(parts)
}

const drawnLine = (line: string, index: number, { length }: string[]): string =>
  `BT /F1 1 Tf 50 ${750 - Math.min(15, 700 / length) * index} Td (${line.replace(/[()\\]/g, '\\$&')}) Tj ET`
