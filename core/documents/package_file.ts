/** File of npm that may contain settings as its member `vtcode`. */
export const PACKAGE_FILE = 'package.json'
/** Name of the program, as cosmiconfig knows it. */
export const MODULE_NAME = 'vtcode'

/** Largest `package.json` that is searched for settings, in bytes. */
export const MAX_PACKAGE_BYTES = 16 * 1_048_576

/** Returns whether the text of a `package.json` is an object with a member `vtcode`. */
export function hasPackageSettings(text: string): boolean {
  if (!text.includes(MODULE_NAME)) return false
  try {
    const value: unknown = JSON.parse(text.replace(/^\ufeff/, ''))
    return typeof value === 'object' && value !== null && Object.hasOwn(value, MODULE_NAME)
  } catch {
    return false
  }
}
