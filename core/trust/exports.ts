import { readFileSync, statSync } from 'node:fs'
import { extname } from 'node:path'
import { compilerFor, moduleSource } from './foreign.js'

const MAX_BYTES = 1_048_576

/** Why the text of a module has no default export, where that can be told without running it; its CommonJS exports what it exports when it runs. */
export async function lacksDefault(path: string): Promise<string | undefined> {
  try {
    const { file } = moduleSource(path)
    if (statSync(file).size > MAX_BYTES) return undefined
    const text = readFileSync(file, 'utf8')
    return (await exportsDefault(text, file)) ? undefined : 'has no default export'
  } catch (error) {
    return (error as { code?: string }).code === undefined ? `cannot be read as a module: ${String((error as Error).message).split('\n')[0]!.slice(0, 200)}` : undefined
  }
}

async function exportsDefault(text: string, file: string): Promise<boolean> {
  if (extname(file) === '.cjs') return true
  // What is left of types when TypeScript is compiled is CommonJS.
  if (/\.m?ts$/.test(file)) {
    const compiled = (await compilerFor(file)).transform({ source: text, filename: file, ts: true })
    return /\bexports(?:\.default|\["default"\])|\bmodule\.exports\b|"default"/.test(compiled)
  }
  const { init, parse } = await import('es-module-lexer')
  await init
  const [, names, , isModule] = parse(text)
  return isModule ? names.some(({ n }) => n === 'default') : /\bexports\b/.test(text)
}
