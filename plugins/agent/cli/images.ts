import { constants, type Stats } from 'node:fs'
import { open, stat } from 'node:fs/promises'
import { basename, resolve } from 'node:path'
import type { Command } from 'commander'
import { visibleLine } from '../../../core/text/index.js'
import type { Io } from '../../../core/contract/index.js'
import { readImageFacts, IMAGE_LIMITS } from '../../lib/reading/index.js'
import { say } from '../../lib/terminal/index.js'
import type { GivenImage } from '../index.js'

export interface ImageFlags {
  image?: string[]
}
const { O_RDONLY, O_NONBLOCK = 0 } = constants
const MAX_IMAGES = 20

/** Adds the flag --image to a command. */
export const addImageOption = (command: Command): Command =>
  command.option('--image <files>', 'images, separated by commas', (value: string, before: string[] = []) => [
    ...before,
    value,
  ])

/**
 * Reads the images that a person names, from any folder. Prints an error and returns `undefined` if one is unusable.
 */
export async function readImages(
  { image = [] }: ImageFlags,
  io: Io,
  word = '--image',
): Promise<GivenImage[] | undefined> {
  const files = (await Promise.all(image.map(splitFiles))).flat()
  const images: GivenImage[] = []
  if (files.length > MAX_IMAGES)
    return reportError(io, `${word} names ${files.length} files; at most ${MAX_IMAGES} are accepted.`)
  for (const file of files) {
    const bytes = await readImage(file)
    const fault = typeof bytes === 'string' ? bytes : readImageFacts(bytes)
    if (typeof fault === 'string') return reportError(io, `${word} ${visibleLine(file)}: ${fault}.`)
    images.push({ name: basename(file), data: bytes as Buffer })
  }
  return images
}

function reportError(io: Io, text: string): undefined {
  say(io, 'error', text)
  return undefined
}

/** Splits a list of files at commas, unless the whole text names an existing file. */
async function splitFiles(value: string): Promise<string[]> {
  if (!value.includes(',') || (await stat(resolve(value)).catch(() => undefined))) return [value]
  return value.split(',').map((one) => one.trim())
}

/** Returns the bytes of an image, or the problem. Opens without blocking, because a pipe may have no writer. */
async function readImage(file: string): Promise<Buffer | string> {
  if (file === '') return 'the name of a file is empty'
  const opened = await open(resolve(file), O_RDONLY | O_NONBLOCK).catch((error: NodeJS.ErrnoException) => error)
  if (opened instanceof Error)
    return opened.code === 'ENOENT' ? 'file not found' : `it cannot be opened (${opened.code ?? opened.message})`
  try {
    const found: Stats = await opened.stat()
    if (!found.isFile()) return 'it is no regular file'
    if (found.size > IMAGE_LIMITS.bytes) return `it has ${found.size} bytes; at most ${IMAGE_LIMITS.bytes} are accepted`
    return await opened.readFile()
  } catch (error) {
    return `it cannot be read (${(error as NodeJS.ErrnoException).code ?? 'unknown'})`
  } finally {
    await opened.close()
  }
}
