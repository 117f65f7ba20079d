import { readFileSync } from 'node:fs'

/** What a file of the system says, such as one below `/proc`; nothing where it cannot be read, or is gone. */
export function readSystemFile(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
