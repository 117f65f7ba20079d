import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { makeFolder } from '../../../core/base/index.js'
import { programFile, version, type Io } from '../../../core/index.js'
import { oneLine, say } from '../../lib/terminal/index.js'

const templates = programFile('skills/plugin-author/assets')
export const kinds = ['action', 'command', 'policy', 'compactor']

/** `vtcode plugins new`: a plugin that works, with examples and a test that pass. What exists is never touched. */
export async function createPlugin(name: string, { kind, dir }: { kind: string; dir: string }, io: Io): Promise<number> {
  const wrong = !kinds.includes(kind)
    ? `Unknown kind '${oneLine(kind)}'; known: ${kinds.join(', ')}.`
    : /^(?=.{1,60}$)[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/.test(name)
      ? undefined
      : `'${oneLine(name)}' is no name for a plugin: lower-case letters, digits, and between them single hyphens or underscores.`
  if (wrong !== undefined) {
    say(io, 'error', wrong)
    return 2
  }
  const folder = resolve(dir, name)
  if (existsSync(folder)) {
    say(io, 'error', `${folder} exists already.`)
    return 1
  }
  const id = name.replaceAll('-', '_')
  const words: Record<string, string> = { name, id, camel: id.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase()), version }
  const filled = (text: string) => text.replace(/\{\{(name|id|camel|version)\}\}/g, (_, word: string) => words[word]!)
  // `<kind>.<file>`, and `common.<file>` for every kind.
  const chosen = readdirSync(templates).filter((file) => file.startsWith(`${kind}.`) || file.startsWith('common.'))
  const files = chosen.map((file) => ({ file: filled(file.slice(file.indexOf('.') + 1)), text: filled(readFileSync(join(templates, file), 'utf8')) }))
  try {
    makeFolder(folder)
    for (const { file, text } of files) writeFileSync(join(folder, file), text, { flag: 'wx' })
  } catch (error) {
    say(io, 'error', `${folder} cannot be written: ${(error as Error).message}.`)
    return 1
  }
  io.stdout.write(`Written: ${folder} (${files.map(({ file }) => file).join(', ')})
Try it:   vtcode plugins validate ${folder} --run
Use it:   vtcode plugins add --link ${folder}
Test it:  npm install && npm test, in its folder
`)
  return 0
}
