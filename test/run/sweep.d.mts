export function folderOfRun(pid: number): string
export function diskFolderOfRun(pid: number): string
export function sweepRun(pid: number): Promise<string[]>
