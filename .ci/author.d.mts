interface Ran {
  code: number | null
  stdout: string
  stderr: string
}
type Run = (words: string[]) => Ran | Promise<Ran>
export const templates: string[]
export const files: Record<string, string>
export function createPlugin(template: string, run: Run): Promise<unknown>
export function testPlugins(folder: string, count: number, run: Run): Promise<void>
export function usePlugin(template: string, run: Run): Promise<void>
export function listTemplates(run: Run): Promise<string[] | undefined>
