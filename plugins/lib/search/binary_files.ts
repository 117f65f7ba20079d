import type { Context } from '../../../core/contract/index.js'
import { HEAD_BYTES } from '../base/index.js'
import type { FileSelection } from '../globs/index.js'
import type { CountedFile } from './first_matches.js'
import { isBinary } from './text_source.js'

/** Extensions of files that hold no text. Reading such files would take most of the time of a search. */
const BINARY_EXTENSIONS = (
  '7z avif bmp bz2 class dll dylib eot exe flac gif gz ico jar jpeg jpg mkv mov mp3 mp4 node o ogg otf parquet png ' +
  'pyc rar safetensors so tgz tif tiff ttf wasm wav webm webp woff woff2 xz zip zst'
).split(' ')

/** Files of these types are text, whatever bytes they have. */
const TEXT_EXTENSIONS = new Set(
  (
    'c cc cfg cjs conf cpp cs css csv cts cxx go h hpp htm html ini java js json json5 jsonc jsonl jsx kt kts less ' +
    'lock log map md mdx mjs mts php py rb rs scss sh sql swift toml ts tsx txt vue svelte xml yaml yml'
  ).split(' '),
)
/** Files of these types are text or data. One NUL byte shows that such a file is data. */
const DATA_EXTENSIONS = new Set(['bin', 'dat', 'db', 'dump', 'idx', 'img', 'iso', 'pack', 'sqlite', 'sqlite3'])

/** Lists the extensions that a search leaves out: those of files without text that the call does not name. */
export function listBinaryExtensions({ globs = [], file_extensions = [] }: FileSelection): string[] {
  const named = [...globs, ...file_extensions.map((extension) => `.${extension.replace(/^\*?\./, '')}`)]
  const text = named.join('\n').toLowerCase()
  if (text === '') return BINARY_EXTENSIONS
  const words = new Set(text.match(/[a-z0-9]+/g))
  return BINARY_EXTENSIONS.filter((extension) => !words.has(extension))
}

/** Returns the extension of a file without its dot; empty without one. */
export const readExtension = (path: string): string => /\.([^./]+)$/.exec(path)?.[1]?.toLowerCase() ?? ''

/** Returns the flags of ripgrep that leave out files without text. */
export const toBinaryFlags = (selection: FileSelection): string[] =>
  listBinaryExtensions(selection).flatMap((extension) => ['-g', `!*.${extension}`])

export interface TextAndBinaryFiles {
  /** In no order. */
  files: CountedFile[]
  /** Files without text, whose matches are only counted. */
  binary: CountedFile[]
}

/** Separates files without text by their first bytes. A file that the call names stays in `files` too. */
export async function separateBinaryFiles(
  context: Context,
  all: CountedFile[],
  isNamed: boolean,
): Promise<TextAndBinaryFiles> {
  const [files, binary]: CountedFile[][] = [[], []]
  await using opener = context.workspace.createFileOpener()
  for (const one of all) {
    const isText = !isNamed && TEXT_EXTENSIONS.has(readExtension(one.file))
    // A file that vanished is reported when it is read.
    const handle = isText ? undefined : await opener.openFile(one.file).catch(() => undefined)
    const without =
      handle !== undefined && isBinary(await handle.read(0, HEAD_BYTES), DATA_EXTENSIONS.has(readExtension(one.file)))
    await handle?.close()
    if (without) binary!.push(one)
    if (!without || isNamed) files!.push(one)
  }
  return { files: files!, binary: binary! }
}
