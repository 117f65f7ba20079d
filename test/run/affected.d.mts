export function findAffected(root: string, changed: readonly string[]): { file: string; distance: number }[]
