/** Returns the parent folder of a workspace path, `.` for a single name. */
export const toParentPath = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
/** Returns the last name of a path. */
export const toBaseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
