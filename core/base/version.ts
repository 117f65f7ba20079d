import { readFileSync } from 'node:fs'
import { programFile } from './program_files.js'

/** The program's version. */
export const version: string = JSON.parse(readFileSync(programFile('../package.json'), 'utf8')).version
