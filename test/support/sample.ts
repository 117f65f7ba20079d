import { rounds } from './exec.js'

/**
 * Chooses `most` of the points, always the first and the last, the others spread evenly, and each of `special`; the long form of the
 * suite takes all.
 */
export function samplePoints<T>(points: readonly T[], most: number, special: readonly T[] = []): T[] {
  const count = rounds(most, points.length)
  if (count >= points.length) return [...points]
  const chosen = new Set(
    Array.from({ length: count }, (_, index) => Math.round((index * (points.length - 1)) / (count - 1))),
  )
  return points.filter((point, index) => chosen.has(index) || special.includes(point))
}
