import { constants, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import { visibleLine } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { lookAtImage, mostOfImage } from '../../lib/reading/index.js'
import { say } from '../../lib/terminal/index.js'
import type { GivenImage } from '../index.js'

export interface ImageFlags {
  image?: string[]
}
const { O_RDONLY, O_NONBLOCK = 0 } = constants
const mostImages = 20

/** The flag of the verbs that take images with a task. */
export const withImages = (command: Command): Command =>
  command.option('--image <files>', 'images, commas between', (value: string, before: string[] = []) => [
    ...before,
    value,
  ])

/** The images that a person names, wherever they lie; nothing, when one is none, and why is said. */
export async function givenImages(
  { image = [] }: ImageFlags,
  io: Io,
  word = '--image',
): Promise<GivenImage[] | undefined> {
  const files = (await Promise.all(image.map(named))).flat()
  const images: GivenImage[] = []
  if (files.length > mostImages)
    return wrong(io, `${word} names ${files.length} files; at most ${mostImages} are taken.`)
  for (const file of files) {
    const bytes = await bytesOf(file)
    const fault = typeof bytes === 'string' ? bytes : lookAtImage(bytes)
    if (typeof fault === 'string') return wrong(io, `${word} ${visibleLine(file)}: ${fault}.`)
    images.push({ name: basename(file), data: bytes as Buffer })
  }
  return images
}

function wrong(io: Io, text: string): undefined {
  say(io, 'error', text)
  return undefined
}

/** A file may have a comma in its name: what is there as it is written is one. */
async function named(value: string): Promise<string[]> {
  if (!value.includes(',') || (await stat(resolve(value)).catch(() => undefined))) return [value]
  return value.split(',').map((one) => one.trim())
}

/** The bytes of an image, or why it has none; what waits for a writer is not waited for. */
async function bytesOf(file: string): Promise<Buffer | string> {
  if (file === '') return 'a file is missing'
  const opened = await open(resolve(file), O_RDONLY | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => error)
  if (opened instanceof Error)
    return opened.code === 'ENOENT' ? 'file not found' : `it cannot be opened (${opened.code ?? opened.message})`
  try {
    const found: Stats = await opened.stat()
    if (!found.isFile()) return 'it is no regular file'
    if (found.size > mostOfImage.bytes) return `it has ${found.size} bytes, and at most ${mostOfImage.bytes} are taken`
    return await opened.readFile()
  } catch (error) {
    return `it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`
  } finally {
    await opened.close()
  }
}
