import { readFileSync } from 'node:fs'

/** Reads a system file, for example below `/proc`; '' if the file is unreadable or missing. */
export function readSystemFile(file: string): string {
  try {
    return readFileSync(file, 'latin1')
  } catch {
    return ''
  }
}
