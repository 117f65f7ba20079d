import { closeSync, openSync, readSync } from 'node:fs'
import * as library from 'unpdf/pdfjs'
import { doJobs } from '../../lib/base/index.js'
import { extractJpeg, encodePng, type Pixels } from './picture.js'

export interface PdfJob {
  file: string
  /** Size at the check of the limit; no more is read of a growing file. */
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
  /** Pictures that are too large or of an unsupported kind. */
  left_out: number
}
/** `total` is the number of all pages; `pages` are as many of the requested ones as fit. */
export type PdfReading = { total: number; pages: PdfPage[] } | { refused: 'encrypted' | 'broken'; why: string }

/** Used part of the library, which has no types under this name. */
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

/** Limits of an answer (bytes of text and pictures), a page (characters) and a picture (bytes and points). */
const MAX_ANSWER = { text: 49_152, page: 262_144, pictures: 8_388_608, picture: 3_932_160, points: 10_000_000 }
/** A page with fewer letters, such as stamps and page numbers, counts as scanned. */
const MAX_SCANNED_LETTERS = 16

doJobs<PdfJob, PdfReading>(read)

function readBeginning(file: string, size: number): Buffer {
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
  // The library takes ownership of the bytes. They are read again where needed, so that a large file is not in memory
  // twice.
  const bytes = readBeginning(file, size)
  const loading = getDocument({
    data: new Uint8Array(bytes.buffer, bytes.byteOffset, bytes.length),
    isEvalSupported: false,
    disableFontFace: true,
    useSystemFonts: false,
    enableXfa: false,
    stopAtErrors: false,
    maxImageSize: MAX_ANSWER.points,
    isOffscreenCanvasSupported: false,
    verbosity: 0,
  })
  try {
    const document = await loading.promise
    const pages: PdfPage[] = []
    let [text, pictures] = [0, 0]
    for (let number = first; number <= Math.min(last, document.numPages); number++) {
      const page = await readPage(await document.getPage(number), number, () => readBeginning(file, size))
      text += Buffer.byteLength(page.text)
      pictures += page.pictures.reduce((sum, { data }) => sum + data.length, 0)
      if (pages.length > 0 && (text > MAX_ANSWER.text || pictures > MAX_ANSWER.pictures)) break
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

async function readPage(page: Page, number: number, file: () => Buffer): Promise<PdfPage> {
  const { items } = await page.getTextContent()
  const text = items.map(({ str = '', hasEOL }) => str + (hasEOL ? '\n' : '')).join('')
  const scanned = text.replace(/\s/g, '').length < MAX_SCANNED_LETTERS
  const found = scanned ? await readPictures(page, file) : { pictures: [], left_out: 0 }
  page.cleanup()
  return {
    number,
    text:
      text.length > MAX_ANSWER.page
        ? `${text.slice(0, MAX_ANSWER.page)}\n[the page continues for ${text.length - MAX_ANSWER.page} characters]\n`
        : text,
    ...found,
  }
}

/** Reads the pictures of a page: JPEG unchanged, others as PNG. */
async function readPictures(page: Page, file: () => Buffer): Promise<Pick<PdfPage, 'pictures' | 'left_out'>> {
  const { fnArray, argsArray } = await page.getOperatorList()
  const shown = fnArray.flatMap((fn, index) => (fn === OPS.paintImageXObject ? [String(argsArray[index]![0])] : []))
  const found: (PdfPicture | undefined)[] = []
  let bytes: Buffer | undefined
  for (const id of [...new Set(shown)].slice(0, 20)) {
    const pixels = await new Promise<Pixels | null>((resolve) =>
      (id.startsWith('g_') ? page.commonObjs : page.objs).get(id, resolve),
    )
    const jpeg = pixels && extractJpeg((bytes ??= file()), pixels)
    const [mimeType, data] = jpeg ? ['image/jpeg', jpeg] : ['image/png', pixels && encodePng(pixels)]
    found.push(data && data.length <= MAX_ANSWER.picture ? { mimeType, data: data.toString('base64') } : undefined)
  }
  const pictures = found.filter((picture) => picture !== undefined)
  return { pictures, left_out: found.length - pictures.length }
}
