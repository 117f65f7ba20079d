import { baseName, findValues, withText, type Argv, type Word } from './words.js'

/** Programs that keep the old file under another name. */
const KEEPS_BACKUP = /^(cp|mv|ln|install|rsync|patch)$/
const SUFFIX_OPTION = /^(-[Sz]|--suf[a-z]*)$/
/** Programs whose option `-i` has the suffix of a copy. */
const EDITS_IN_PLACE = /^(sed|perl|ruby|awk|gawk)$/
const IN_PLACE = /^(?:-[a-zA-Z0]*?i|--in-p[a-z-]*=)(.+)$/s

/** Returns names of backups: each written file with the suffix of an option. A `*` in it stands for the name. */
export function findBackups(name: string, words: Argv, written: Argv): Word[] {
  const suffixes = KEEPS_BACKUP.test(name)
    ? findValues(words, SUFFIX_OPTION)
    : EDITS_IN_PLACE.test(name)
      ? words.flatMap((word) => {
          const [, suffix] = IN_PLACE.exec(word.text) ?? []
          return suffix === undefined ? [] : [withText(word, suffix)]
        })
      : []
  return suffixes.flatMap(({ text: suffix, kind }) =>
    written.map((file): Word => {
      const base = baseName(file.text)
      const folder = suffix.includes('/') ? '' : file.text.slice(0, file.text.length - base.length)
      const text = suffix.includes('*') ? folder + suffix.replaceAll('*', () => base) : file.text + suffix
      return kind === 'static' || suffix.includes('*') ? withText(file, text) : { text, kind }
    }),
  )
}

const COMPRESSES = /^(gzip|gunzip|bzip2|bunzip2|xz|unxz|lzma|unlzma|zstd|unzstd|lz4|unlz4|compress|uncompress)$/
const KEEPS_FILE = /^(-[a-zA-Z0-9]*[ctl][a-zA-Z0-9]*|--(stdout|to-stdout|test|list))$/

/** Returns the files that a compressing program replaces, and the names without their last ending. */
export function findCompressed(name: string, words: Argv): Word[] | undefined {
  if (!COMPRESSES.test(name)) return undefined
  if (words.some(({ text }) => KEEPS_FILE.test(text))) return []
  const suffixes = findValues(words, SUFFIX_OPTION).map(({ text }) => text)
  return words
    .filter(({ text }) => !/^-./.test(text))
    .flatMap((file) => [
      file,
      withText(file, file.text.replace(/\.[^./]+$/, '')),
      ...suffixes.flatMap((suffix) => [
        withText(file, file.text + suffix),
        ...(file.text.endsWith(suffix) ? [withText(file, file.text.slice(0, -suffix.length))] : []),
      ]),
    ])
}
