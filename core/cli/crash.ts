import { readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { makeFolder, version } from '../system/index.js'
import { redactText, toText } from '../text/index.js'

const most = 20

/** Writes what is known of a fault of the program, without secrets, into the user's folder, readable by nobody else; returns the file, or why there is none. */
export function leaveReport(error: unknown, home: string): string {
  const folder = join(home, 'reports')
  const file = join(folder, `${new Date().toISOString().replace(/:/g, '-')}-${process.pid}.txt`)
  const stack = redactText(error instanceof Error ? (error.stack ?? error.message) : toText(error))
  try {
    makeFolder(folder, 0o700)
    for (const old of readdirSync(folder)
      .sort()
      .slice(0, 1 - most))
      rmSync(join(folder, old), { force: true })
    writeFileSync(file, `vtcode ${version}, Node ${process.version}, ${process.platform} ${process.arch}\n${stack}\n`, {
      mode: 0o600,
      flag: 'wx',
    })
    return file
  } catch (reason) {
    return `nowhere: ${(reason as Error).message}\n${stack}`
  }
}
