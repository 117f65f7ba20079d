import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { makeFolder } from '../../../core/system/index.js'
import { programFile, version, type Io, type Kernel } from '../../../core/index.js'
import { toOneLine, say } from '../../lib/terminal/index.js'
import { writeTypes } from './types.js'

const TEMPLATES_FOLDER = programFile('skills/plugin-author/assets')
export const templates = [
  'js',
  'ts',
  'command',
  'http',
  'mcp',
  'provider',
  'policy',
  'compactor',
  'skill',
  'hooks',
  'package',
]
export const runners = ['node', 'vitest']

interface StarterFile {
  file: string
  text: string
}
export interface StarterChoice {
  template: string
  tests: string
  dir: string
}

/**
 * Runs `vtcode plugins new`: creates a working plugin with passing examples and tests. Never changes existing files.
 */
export async function createPlugin(
  kernel: Kernel,
  name: string,
  { template, tests, dir }: StarterChoice,
  io: Io,
): Promise<number> {
  const wrong = findChoiceError(name, template, tests)
  if (wrong !== undefined) {
    say(io, 'error', wrong)
    return 2
  }
  const folder = resolve(dir, name)
  if (existsSync(folder)) {
    say(io, 'error', `${folder} exists already.`)
    return 1
  }
  const files = readTemplate(name, template).map((one) => (tests === 'vitest' ? toVitest(one) : one))
  try {
    for (const { file, text } of files) {
      makeFolder(dirname(join(folder, file)))
      writeFileSync(join(folder, file), text, { flag: 'wx' })
    }
  } catch (error) {
    say(io, 'error', `${folder} cannot be written: ${(error as Error).message}.`)
    return 1
  }
  const hasTypes = template === 'ts' && (await writeTypes(kernel, folder, io, { quiet: true })) === 0
  const names = [...files.map(({ file }) => file), ...(hasTypes ? ['types.d.ts'] : [])]
  io.stdout.write(`Written: ${folder} (${names.join(', ')})
Check it: vtcode plugins validate ${folder} --run
Test it:  ${tests === 'vitest' ? 'npm install && npm test, in its folder' : `vtcode plugins test ${folder}`}
Use it:   vtcode plugins add --link ${folder}
`)
  return 0
}

function findChoiceError(name: string, template: string, tests: string): string | undefined {
  if (!templates.includes(template)) return `Unknown template '${toOneLine(template)}'; known: ${templates.join(', ')}.`
  if (!runners.includes(tests)) return `Unknown test runner '${toOneLine(tests)}'; known: ${runners.join(', ')}.`
  if (/^(?=.{1,60}$)[a-z][a-z0-9]*(?:[-_][a-z0-9]+)*$/.test(name)) return undefined
  return (
    `'${toOneLine(name)}' is no valid plugin name: use lower-case letters, digits, and single hyphens or ` +
    'underscores between them.'
  )
}

/**
 * Reads the files of a template, `<template>.<path>` with `+` for `/`, and the files `common.<path>` that it does not
 * replace.
 */
function readTemplate(name: string, template: string): StarterFile[] {
  const id = name.replaceAll('-', '_')
  const camel = id.replace(/_(.)/g, (_, letter: string) => letter.toUpperCase())
  const values: Record<string, string> = {
    name,
    id,
    camel,
    pascal: camel[0]!.toUpperCase() + camel.slice(1),
    skill: name.replaceAll('_', '-'),
    version,
  }
  const fillTemplate = (text: string) =>
    text.replace(/\{\{(name|id|camel|pascal|skill|version)\}\}/g, (_, key: string) => values[key]!)
  const all = readdirSync(TEMPLATES_FOLDER).sort()
  const own = all.filter((file) => file.startsWith(`${template}.`))
  const common = all.filter(
    (file) => file.startsWith('common.') && !own.includes(file.replace('common.', `${template}.`)),
  )
  return [...own, ...common].map((file) => ({
    file: fillTemplate(file.slice(file.indexOf('.') + 1)).replaceAll('+', '/'),
    text: fillTemplate(readFileSync(join(TEMPLATES_FOLDER, file), 'utf8')),
  }))
}

/** Converts a file for vitest, which compiles `await using` in TypeScript. */
function toVitest({ file, text }: StarterFile): StarterFile {
  if (/\.test\.[jt]s$/.test(file))
    return { file: file.replace(/js$/, 'ts'), text: text.replace("from 'node:test'", "from 'vitest'") }
  if (file !== 'package.json') return { file, text }
  return {
    file,
    text: text
      .replace('vtcode plugins test .', 'vitest run')
      .replace('"vtcode": "^', '"vitest": "^4",\n    "vtcode": "^'),
  }
}
