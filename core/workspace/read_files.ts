import { isUtf8 } from 'node:buffer'
import { openLocation, toStat, type EntryKind, type EntryStat, type Handle, type Location } from '../files/index.js'
import { problem, VtError } from '../shapes/index.js'
import { escapePath } from '../system/index.js'
import type { ConfinedPaths } from './confined_paths.js'
import type { FileOpener } from './types.js'

const MAX_READ_BYTES = 64 * 1024 * 1024

/** Opens and reads the files of one view. */
export class FileReader {
  readonly #paths: ConfinedPaths

  constructor(paths: ConfinedPaths) {
    this.#paths = paths
  }

  async open(path: string): Promise<Handle> {
    const paths = this.#paths
    const asked = paths.normalize(path)
    try {
      const handle = openLocation(paths.walk(asked, true), asked)
      if (handle.kind === 'directory') return paths.limits.plugin ? this.#limitFolder(handle) : handle
      if (this.#isReadable(handle)) return handle
      await handle.close()
    } catch (error) {
      throw paths.addSimilar(error, asked)
    }
    throw paths.createHiddenError(asked)
  }

  async openFile(path: string): Promise<Handle> {
    return requireKind('file', await this.open(path))
  }

  async openDirectory(path: string): Promise<Handle> {
    return requireKind('directory', await this.open(path))
  }

  createFileOpener(): FileOpener {
    let folder: Handle | undefined
    const close = async () => await folder?.close()
    return {
      openFile: async (path) => {
        const asked = this.#paths.normalize(path)
        const cut = asked.lastIndexOf('/')
        const parent = cut < 0 ? '.' : asked.slice(0, cut)
        // A path that the call named must lead where it was judged to lead, so it is walked whole.
        if (this.#paths.limits.judged?.expectPlace(asked, true)?.left === 0) return await this.openFile(asked)
        if (folder?.path !== parent) {
          await close()
          folder = undefined
          folder = await this.openDirectory(parent).catch(() => undefined)
        }
        const file = folder?.openFile(asked.slice(cut + 1))
        if (!file) return await this.openFile(asked)
        if (this.#isReadable(file)) return file
        await file.close()
        throw this.#paths.createHiddenError(asked)
      },
      [Symbol.asyncDispose]: close,
    }
  }

  async stat(path: string): Promise<EntryStat | undefined> {
    const asked = this.#paths.normalize(path)
    let location: Location
    try {
      location = this.#paths.walk(asked, false)
    } catch (error) {
      if (error instanceof VtError && (error.code === 'VT_PATH_NOT_FOUND' || error.code === 'VT_PATH_NOT_DIRECTORY'))
        return undefined
      throw error
    }
    const stat = location.entry && toStat(location.entry.stats)
    location.close()
    return stat
  }

  async read(path: string, range: { offset?: number; length?: number } = {}): Promise<Buffer> {
    await using file = await this.openFile(path)
    const { offset = 0, length = file.stat.bytes } = range
    if (Math.min(length, file.stat.bytes - offset) > MAX_READ_BYTES) throw sizeError(file, MAX_READ_BYTES)
    return await file.read(offset, length)
  }

  async readText(path: string, how: { max_bytes?: number } = {}): Promise<string> {
    await using file = await this.openFile(path)
    const { max_bytes: limit = MAX_READ_BYTES } = how
    if (file.stat.bytes > limit) throw sizeError(file, limit)
    const bytes = await file.read(0, limit)
    if (!isUtf8(bytes)) throw problem('VT_FILE_BINARY', { path: escapePath(file.path) })
    return bytes.toString().replace(/^\uFEFF/, '')
  }

  async listNames(path: string): Promise<{ name: string; kind: EntryKind }[]> {
    const paths = this.#paths
    await using directory = await this.openDirectory(path)
    const names = directory.listNames()
    return paths.hidesFiles ? names.filter(({ name }) => this.#isNameReadable(directory, name)) : names
  }

  /** Keeps what this view hides from a plugin that opens files through a folder. */
  #limitFolder(folder: Handle): Handle {
    const openFile = (name: string): Handle | undefined => {
      const file = folder.openFile(name)
      if (!file || this.#isReadable(file)) return file
      void file.close()
      return undefined
    }
    return Object.create(folder, {
      listNames: {
        value: (most?: number) => folder.listNames(most).filter(({ name }) => this.#isNameReadable(folder, name)),
      },
      openFile: { value: openFile },
      openDirectory: { value: (name: string) => this.#limitFolder(folder.openDirectory(name)) },
    }) as Handle
  }

  #isNameReadable({ path, resolved }: Handle, name: string): boolean {
    return [path, resolved].every((folder) => this.#paths.isReadable(folder === '.' ? name : `${folder}/${name}`))
  }

  #isReadable({ path, resolved }: Handle): boolean {
    return this.#paths.isReadable(path) && this.#paths.isReadable(resolved)
  }
}

async function requireKind(kind: 'file' | 'directory', handle: Handle): Promise<Handle> {
  if (handle.kind === kind) return handle
  await handle.close()
  throw problem(kind === 'file' ? 'VT_PATH_IS_DIRECTORY' : 'VT_PATH_NOT_DIRECTORY', { path: escapePath(handle.path) })
}

const sizeError = (file: Handle, limit: number) =>
  new VtError({
    code: 'VT_INPUT_TOO_LARGE',
    message: `'${escapePath(file.path)}' has ${file.stat.bytes} bytes; at most ${limit} are read at once.`,
    hint: 'Read it in pages.',
    retryable: false,
    details: { size_bytes: file.stat.bytes, limit_bytes: limit },
  })
