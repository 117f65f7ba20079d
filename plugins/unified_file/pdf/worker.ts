import { closeSync, openSync, readSync } from 'node:fs'
import * as library from 'unpdf/pdfjs'
import { doJobs } from '../../lib/base/index.js'
import { embeddedJpeg, pngOf, type Pixels } from './picture.js'

export interface PdfJob {
  file: string
  /** Its size when it was judged: of one that grows, no more is read. */
  bytes: number
  first: number
  last: number
}
export interface PdfPicture {
  mimeType: string
  data: string
}
export interface PdfPage {
  number: number
  text: string
  pictures: PdfPicture[]
  /** Pictures that are too large to be sent, or of a kind that cannot be read here. */
  left_out: number
}
/** `total` is the number of all pages; of those asked for, as many as fit. */
export type PdfReading = { total: number; pages: PdfPage[] } | { refused: 'encrypted' | 'broken'; why: string }

/** What we use of the library, whose own types do not lead from this name to it. */
interface Page {
  getTextContent(): Promise<{ items: { str?: string; hasEOL?: boolean }[] }>
  getOperatorList(): Promise<{ fnArray: number[]; argsArray: unknown[][] }>
  readonly objs: PageObjects
  readonly commonObjs: PageObjects
  cleanup(): void
}
interface PageObjects {
  get(id: string, take: (pixels: Pixels | null) => void): void
}
interface Loading {
  readonly promise: Promise<{ numPages: number; getPage(number: number): Promise<Page> }>
  destroy(): Promise<void>
}
const { getDocument, OPS } = library as unknown as {
  getDocument(source: object): Loading
  OPS: { paintImageXObject: number }
}

/** Of one answer, bytes of text and of pictures; of one page its characters; of one picture its points and bytes. */
const most = { text: 49_152, page: 262_144, pictures: 8_388_608, picture: 3_932_160, points: 10_000_000 }
/** Letters of a page that is scanned at most: what stamps and page numbers have. */
const fewLetters = 16

doJobs<PdfJob, PdfReading>(read)

function beginningOf(file: string, size: number): Buffer {
  const bytes = Buffer.alloc(size)
  const fd = openSync(file, 'r')
  try {
    let end = 0
    for (let got = 1; got > 0 && end < size; end += got) got = readSync(fd, bytes, end, size - end, end)
    return bytes.subarray(0, end)
  } finally {
    closeSync(fd)
  }
}

async function read({ file, bytes: size, first, last }: PdfJob): Promise<PdfReading> {
  // The library takes the bytes for itself; who needs them again reads them again, or a large file would lie here twice.
  const bytes = beginningOf(file, size)
  const loading = getDocument({
    data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length),
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false,
    stopAtErrors: false,
    maxImageSize: most.points,
    isOffscreenCanvasSupported: false,
    verbosity: 0,
  })
  try {
    const document = await loading.promise
    const pages: PdfPage[] = []
    let [text, pictures] = [0, 0]
    for (let number = first; number <= Math.min(last, document.numPages); number++) {
      const page = await pageOf(await document.getPage(number), number, () => beginningOf(file, size))
      text += Buffer.byteLength(page.text)
      pictures += page.pictures.reduce((sum, { data }) => sum + data.length, 0)
      if (pages.length > 0 && (text > most.text || pictures > most.pictures)) break
      pages.push(page)
    }
    return { total: document.numPages, pages }
  } catch (error) {
    const { name, message } = error as Error
    return { refused: name === 'PasswordException' ? 'encrypted' : 'broken', why: String(message).slice(0, 200) }
  } finally {
    await loading.destroy()
  }
}

async function pageOf(page: Page, number: number, file: () => Buffer): Promise<PdfPage> {
  const { items } = await page.getTextContent()
  const text = items.map(({ str = '', hasEOL }) => str + (hasEOL ? '\n' : '')).join('')
  const scanned = text.replace(/\s/g, '').length < fewLetters
  const found = scanned ? await picturesOf(page, file) : { pictures: [], left_out: 0 }
  page.cleanup()
  return {
    number,
    text:
      text.length > most.page
        ? `${text.slice(0, most.page)}\n[the page continues for ${text.length - most.page} characters]\n`
        : text,
    ...found,
  }
}

/** The pictures that a page shows, as they lie in the file where that is a JPEG, else as PNG. */
async function picturesOf(page: Page, file: () => Buffer): Promise<Pick<PdfPage, 'pictures' | 'left_out'>> {
  const { fnArray, argsArray } = await page.getOperatorList()
  const shown = fnArray.flatMap((fn, index) => (fn === OPS.paintImageXObject ? [String(argsArray[index]![0])] : []))
  const found: (PdfPicture | undefined)[] = []
  let bytes: Buffer | undefined
  for (const id of [...new Set(shown)].slice(0, 20)) {
    const pixels = await new Promise<Pixels | null>((resolve) =>
      (id.startsWith('g_') ? page.commonObjs : page.objs).get(id, resolve),
    )
    const jpeg = pixels && embeddedJpeg((bytes ??= file()), pixels)
    const [mimeType, data] = jpeg ? ['image/jpeg', jpeg] : ['image/png', pixels && pngOf(pixels)]
    found.push(data && data.length <= most.picture ? { mimeType, data: data.toString('base64') } : undefined)
  }
  const pictures = found.filter((picture) => picture !== undefined)
  return { pictures, left_out: found.length - pictures.length }
}
