import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { VtError, type Context } from '../../../core/index.js'
import { toParentPath, createSlotError } from '../../lib/base/index.js'

type Yaml = Record<string, unknown>
const PROJECT_FILES = ['sgconfig.yml', 'sgconfig.yaml']

/** Reads the project file of ast-grep; `undefined` if it does not exist. Throws VT_SEARCH_CONFIG_INVALID. */
export async function readConfig(context: Context, path: string): Promise<Yaml | undefined> {
  let text: string
  try {
    text = await context.workspace.readText(path, { max_bytes: 1_048_576 })
  } catch (error) {
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return undefined
    throw error
  }
  const { parseDocument } = await import('yaml')
  const document = parseDocument(text)
  const [error] = document.errors
  if (error) {
    const at = error.linePos?.[0]
    const place = at && !/ at line /.test(error.message) ? ` at line ${at.line}, column ${at.col}` : ''
    throw invalidProject(path, `${error.message.split('\n', 1)[0]}${place}`)
  }
  const data: unknown = document.toJS()
  if (data !== null && (typeof data !== 'object' || Array.isArray(data)))
    throw invalidProject(path, 'it is not a mapping')
  return (data ?? {}) as Yaml
}

export const invalidProject = (path: string, why: string, stderr?: string[]) =>
  createSlotError('VT_SEARCH_CONFIG_INVALID', `'${path}' cannot be used: ${why.slice(0, 200)}.`, {
    next: createInspectCall(path),
    ...(stderr && { details: { stderr } }),
    ...(stderr?.some((line) => line.includes('custom languages are ignored')) && { hint: UNTRUSTED_HINT }),
  })

const UNTRUSTED_HINT =
  'The customLanguages of a project stay off until the user reads them and runs ' +
  '`ast-grep scan --custom-languages trust` in a terminal.'

export const createInspectCall = (path: string) => ({
  tool: 'unified_search',
  input: { action: 'structural', workflow: 'inspect', ...(path !== 'sgconfig.yml' && { config_path: path }) },
})

/** Finds project files from a directory up to the top of its repository, without opening those above the root. */
export async function discoverProjects(context: Context, from: string): Promise<string[]> {
  const found: string[] = []
  const start =
    (await context.workspace.stat(from).catch(() => undefined))?.kind === 'directory' ? from : toParentPath(from)
  for (let folder = start; ; folder = toParentPath(folder)) {
    for (const name of PROJECT_FILES) {
      const path = folder === '.' ? name : `${folder}/${name}`
      if ((await context.workspace.stat(path).catch(() => undefined))?.kind === 'file') found.push(path)
    }
    if (folder === '.') return [...found, ...findProjectsAbove(context.workspace.root)]
  }
}

function findProjectsAbove(root: string): string[] {
  const found: string[] = []
  let above = '..'
  for (let folder = root; !existsSync(join(folder, '.git')); above = `${above}/..`) {
    if (dirname(folder) === folder) return []
    folder = dirname(folder)
    for (const name of PROJECT_FILES) if (existsSync(join(folder, name))) found.push(`${above}/${name}`)
  }
  return found
}

/** Converts a value of the configuration to a list. */
export const toList = (value: unknown): unknown[] =>
  Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
export const toTexts = (value: unknown): string[] =>
  toList(value).filter((item): item is string => typeof item === 'string')
export const toMap = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Yaml) : {}
