/** What belongs to the folder of a path, made once for each folder. Engines tell files of a folder in a row, two of their threads in turn. */
export class ByFolder<T> {
  private readonly made = new Map<string, T>()
  private now: [folder: string, value: T] | undefined
  private before: [folder: string, value: T] | undefined

  constructor(private readonly make: (folder: string) => T) {}

  /** For the folder in which `path` lies; '.' for that of a path of one name. */
  of(path: string): T {
    const cut = path.lastIndexOf('/')
    if (this.now && isFolder(this.now[0], path, cut)) return this.now[1]
    const other = this.before && isFolder(this.before[0], path, cut) ? this.before : this.at(cut < 0 ? '.' : path.slice(0, cut))
    this.before = this.now
    this.now = other
    return other[1]
  }

  private at(folder: string): [string, T] {
    const known = this.made.get(folder)
    if (known !== undefined || this.made.has(folder)) return [folder, known as T]
    const value = this.make(folder)
    this.made.set(folder, value)
    return [folder, value]
  }
}

const isFolder = (folder: string, path: string, cut: number): boolean => cut === folder.length && path.startsWith(folder)
