/** The folder in which a path of the workspace lies, `.` for that of one name. */
export const toParentPath = (path: string): string => (path.includes('/') ? path.slice(0, path.lastIndexOf('/')) : '.')
/** Its last name. */
export const toBaseName = (path: string): string => path.slice(path.lastIndexOf('/') + 1)
