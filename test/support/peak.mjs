import { existsSync, readFileSync } from 'node:fs'

/**
 * The most memory that this process has had, in bytes. On Linux `maxRSS` begins with what its parent had when it started this program, so
 * that a small child of a large test run looks large; /proc counts from the start of the program.
 */
export function peakBytes() {
  const place = '/proc/self/status'
  const [, kilobytes] = existsSync(place) ? (/^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(place, 'utf8')) ?? []) : []
  return (kilobytes === undefined ? process.resourceUsage().maxRSS : Number(kilobytes)) * 1024
}
