import { rowsOf } from './faces.js'

/**
 * Returns the rows of a long table that one surface is asked: all of them through the library, a part through each other surface, which
 * costs a process or another wire. A soak run asks more.
 */
export const sampleOf = <T>(face: string, rows: readonly T[], every: number): T[] =>
  process.env.VTCODE_SOAK
    ? rowsOf(face, rows, every)
    : rows.filter((_, at) => face === 'the library' || at % every === 0)
