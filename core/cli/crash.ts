import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, version } from '../system/index.js'
import { redactText, toText } from '../text/index.js'

const MAX_REPORTS = 20

/**
 * Writes a report of an internal error, without secrets, into the user's folder, readable by the user only. Returns the
 * file, or the reason why there is none.
 */
export function writeCrashReport(error: unknown, home: string): string {
  const folder = join(home, 'reports')
  const file = join(folder, `${new Date().toISOString().replace(/:/g, '-')}-${process.pid}.txt`)
  const stack = redactText(error instanceof Error ? (error.stack ?? error.message) : toText(error))
  try {
    makeFolder(folder, 0o700)
    for (const old of readdirSync(folder)
      .sort()
      .slice(0, 1 - MAX_REPORTS))
      rmSync(join(folder, old), { force: true })
    writeFileSync(file, `vtcode ${version}, Node ${process.version}, ${process.platform} ${process.arch}\n${stack}\n`, {
      mode: 0o600,
      flag: 'wx',
    })
    return file
  } catch (reason) {
    return `no file: ${(reason as Error).message}\n${stack}`
  }
}
