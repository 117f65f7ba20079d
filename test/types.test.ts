import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { packedFiles } from './support/packed.js'

// A foreign compiler and editor read the published declarations: strict, with only the types of Node installed.
const root = fileURLToPath(new URL('..', import.meta.url))
const common = { strict: true, exactOptionalPropertyTypes: true, skipLibCheck: false, noEmit: true }
const options: ts.CompilerOptions = { ...common, module: ts.ModuleKind.NodeNext, target: ts.ScriptTarget.ES2022 }

let project: TempWorkspace
/** The files of the project and all declarations that they need, checked once. */
let program: ts.Program
let found: string[]
/** Files of the project; one run of the compiler sees them all. */
const files: Record<string, string> = {}
/** Adds a file; in a test it answers the lines with a mistake, each with the compiler's code. */
function compiled(...lines: string[]): () => string[] {
  const name = `file_${Object.keys(files).length}.ts`
  files[name] = lines.join('\n')
  return () =>
    found
      .filter((line) => line.startsWith(`${name}(`))
      .map((line) => line.replace(/^[^(]*\((\d+),\d+\): error (TS\d+).*/, '$1 $2'))
}
beforeAll(async () => {
  project = await tempWorkspace({ ...files, 'package.json': '{ "type": "module" }' })
  const installed = join(project.root, 'node_modules/vtcode')
  mkdirSync(join(project.root, 'node_modules/@types'), { recursive: true })
  for (const name of ['@types/node', 'undici-types'])
    symlinkSync(join(root, 'node_modules', name), join(project.root, 'node_modules', name))
  cpSync(join(root, 'dist/types'), join(installed, 'dist/types'), { recursive: true })
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
  const host = { ...ts.createCompilerHost(options), getCurrentDirectory: () => project.root }
  program = ts.createProgram(
    Object.keys(files).map((name) => join(project.root, name)),
    { ...options, typeRoots: [join(project.root, 'node_modules/@types')], types: ['node'] },
    host,
  )
  const printed = ts.formatDiagnostics(ts.getPreEmitDiagnostics(program), {
    getCurrentDirectory: () => project.root,
    getCanonicalFileName: (name) => name,
    getNewLine: () => '\n',
  })
  found = printed.split('\n').filter((line) => /error TS/.test(line))
})
afterAll(() => project[Symbol.asyncDispose]())

describe('type declarations', () => {
  const rolled = readdirSync(join(root, 'dist/types')).sort()
  it('packs one declaration file for each export, which imports only its siblings and Node', () => {
    const { exports } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
      exports: Record<string, { types?: string }>
    }
    const named = Object.values(exports).flatMap(({ types }) => types ?? [])
    expect(named.map((path) => path.replace('./dist/types/', '')).sort()).toEqual(rolled)
    const imported = rolled.flatMap((file) =>
      [...readFileSync(join(root, 'dist/types', file), 'utf8').matchAll(/(?:from |import\()"([^"]+)"/g)].map(
        ([, name]) => name!,
      ),
    )
    expect(imported.filter((name) => name !== './index.js' && !name.startsWith('node:'))).toEqual([])
  })
  it('packs no other declaration files', () => {
    const declarations = packedFiles(root).filter((path) => path.endsWith('.d.ts'))
    expect(declarations.sort()).toEqual(rolled.map((file) => `dist/types/${file}`))
  })
  it("passes the compiler's check of libraries", () => {
    expect(found.filter((line) => !line.startsWith('file_'))).toEqual([])
  })
  it('generates declarations of settings and slots from their current schemas', () => {
    const { status, stdout } = spawnSync(process.execPath, [join(root, 'scripts/types.mjs'), '--check'], {
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({ status: 0, stdout: '' })
  })
  it('reports stale declarations when a schema changes', () => {
    const copy = join(project.root, 'copy')
    for (const path of ['scripts/types.mjs', 'manifests', 'core/shapes/settings_types.ts'])
      cpSync(join(root, path), join(copy, path), { recursive: true })
    for (const name of ['build', 'node_modules']) symlinkSync(join(root, name), join(copy, name))
    const schema = join(copy, 'manifests/schema/config.1.json')
    writeFileSync(schema, readFileSync(schema, 'utf8').replace('"max_mode"', '"highest_mode"'))
    const { status, stdout } = spawnSync(process.execPath, [join(copy, 'scripts/types.mjs'), '--check'], {
      encoding: 'utf8',
    })
    expect({ status, stdout }).toEqual({
      status: 1,
      stdout: expect.stringContaining('Stale: core/shapes/settings_types.ts.'),
    })
  })
})

describe('types of settings', () => {
  const settings = (...lines: string[]) =>
    compiled("import { defineConfig } from 'vtcode'", 'export default defineConfig({', ...lines, '})')
  const right = settings(
    "version: 1, manifests: ['builtin', { from: './tools', only: ['a:*'] }], use: { 'unified_search/grep': ['acme', 'builtin'], web_search: false },",
    "policy: { mode: 'auto', deny: ['exec', { rule: 'net', reason: 'offline' }], constraints: { 'unified_search/grep': { max_results_per_call: 10 } } },",
    "hooks: { PreToolUse: [{ matcher: 'Write', hooks: [{ type: 'command', command: 'true', more: 1 }] }], OfAnotherProgram: [{ hooks: [] }] },",
    "mcp: { servers: { files: { command: 'files', args: [], env: { TOKEN: { env: 'TOKEN' } } } } },",
    "custom_providers: [{ name: 'own', api_format: 'openai-chat', models: { m: { context_window: 1000 } }, auth: { type: 'bearer', value: { secret: 'key' } } }],",
    "plugins: { settings: { 'acme:tool': { options: { anything: [1, 'two'] } } } }, secrets: { 'acme:key': { keychain: { service: 's', account: 'a' } } },",
  )
  it('accepts in types every settings file that the program accepts', () => expect(right()).toEqual([]))

  const wrong = [
    ["polcy: { mode: 'auto' }", 'TS2561'],
    ["policy: { modee: 'auto' }", 'TS2561'],
    ["policy: { mode: 'automatic' }", 'TS2322'],
    ["custom_providers: [{ name: 'x', api_format: 'openai-chatt' }]", 'TS2820'],
    ["custom_providers: [{ base_url: 'http://x' }]", 'TS2741'],
    ["agent: { harness: { max_tool_retries: '2' } }", 'TS2322'],
    ['exec: { max_session: 4 }', 'TS2561'],
    ["mcp: { servers: { s: { comand: 'x' } } }", 'TS2561'],
    ["use: { 'unified_search/grep': true }", 'TS2322'],
    ["manifests: [{ form: './x' }]", 'TS2353'],
    ["policy: { deny: [{ role: 'exec' }] }", 'TS2353'],
    ["secrets: { 'a:b': { enviroment: 'X' } }", 'TS2353'],
  ].map(([line, code]) => ({ line: line!, code, lines: settings('version: 1,', line!) }))
  it.each(wrong)('reports the mistake $line in its line', ({ code, lines }) => expect(lines()).toEqual([`4 ${code}`]))

  const empty = compiled("import type { Config } from 'vtcode'", 'export const config: Config = {}')
  it('completes every key of the schema with its description in an editor', () => {
    expect(empty()).toEqual([])
    const name = Object.keys(files).find((file) => files[file]!.includes('config: Config'))!
    const checker = program.getTypeChecker()
    const variable = (program.getSourceFile(join(project.root, name))!.statements[1] as ts.VariableStatement)
      .declarationList.declarations[0]!
    const schema = JSON.parse(readFileSync(join(root, 'manifests/schema/config.1.json'), 'utf8')) as Part
    const keys = keysOf(schema, checker.getTypeAtLocation(variable), checker, schema, '')
    expect(keys.filter(({ there }) => !there).map(({ path }) => path)).toEqual([])
    expect(keys.length).toBeGreaterThan(100)
  })
})

type Part = {
  properties?: Record<string, Part>
  items?: Part
  additionalProperties?: Part | boolean
  $ref?: string
  $defs?: Record<string, Part>
  description?: string
}
interface Key {
  path: string
  /** The type has it, with the description of the schema. */
  there: boolean
}

/** Compares the keys of a schema with a type. */
function keysOf(part: Part, type: ts.Type, checker: ts.TypeChecker, whole: Part, path: string): Key[] {
  const said = part.$ref ? whole.$defs![part.$ref.replace('#/$defs/', '')]! : part
  const bare = checker.getNonNullableType(type)
  const keys = Object.entries(said.properties ?? {}).flatMap(([key, inner]): Key[] => {
    const symbol = checker.getPropertyOfType(bare, key)
    const comment = symbol && ts.displayPartsToString(symbol.getDocumentationComment(checker))
    const description = comment?.replace(/\s+/g, ' ')
    const there = description?.startsWith((inner.description ?? '').replace(/\s+/g, ' ')) === true
    return [
      { path: `${path}${key}`, there },
      ...(symbol ? keysOf(inner, checker.getTypeOfSymbol(symbol), checker, whole, `${path}${key}.`) : []),
    ]
  })
  const item = said.items && checker.getIndexTypeOfType(bare, ts.IndexKind.Number)
  const value = typeof said.additionalProperties === 'object' && checker.getIndexTypeOfType(bare, ts.IndexKind.String)
  return [
    ...keys,
    ...(item ? keysOf(said.items!, item, checker, whole, `${path}[].`) : []),
    ...(value ? keysOf(said.additionalProperties as Part, value, checker, whole, `${path}*.`) : []),
  ]
}

describe('types of kernel.call', () => {
  const start = [
    "import { createKernel, type Context, type JsonObject } from 'vtcode'",
    'const kernel = await createKernel()',
  ]
  const known = compiled(
    ...start,
    "const found = await kernel.call('unified_search', { action: 'grep', pattern: 'x', response_format: 'detailed' }, { session: 's' })",
    'if (found.ok) { const file: string = found.output.matches[0]!.file; const at: number | undefined = found.output.matches[0]!.submatches?.[0]?.start; console.log(file, at) }',
    "const ran = await kernel.call('unified_exec', { action: 'run', command: ['ls'] })",
    'if (ran.ok) { const code: number | null = ran.output.exit_code; console.log(code) }',
    "const patched = await kernel.call('apply_patch', { input: '' })",
    'if (patched.ok) { const paths: string[] = patched.output.changes.map(({ path }) => path); console.log(paths) }',
    "const copied = await kernel.call('unified_file/copy', { path: 'a', destination: 'b' })",
    'if (copied.ok) { const entries: number = copied.output.entries; console.log(entries) }',
    "const matched = await kernel.call('unified_search', { action: 'structural', pattern: '$A' })",
    "if (matched.ok && matched.output.workflow === 'query') { const line: number = matched.output.matches[0]!.range.start.line; console.log(line) }",
    "export async function inside(context: Context) { const list = await context.call('unified_search', { action: 'list' }); return list.ok ? list.output.items.map(({ path }) => path) : [] }",
  )
  it('infers the output of a call by the name of a tool and an action', () => expect(known()).toEqual([]))

  const lacking = compiled(
    ...start,
    "const found = await kernel.call('unified_search', { action: 'grep', pattern: 'x' })",
    'if (found.ok) console.log(found.output.match)',
    "const patched = await kernel.call('apply_patch', { input: '' })",
    'if (patched.ok) { const count: string = patched.output.fuzzy; console.log(count) }',
    'export type { Context, JsonObject }',
  )
  it('reports a missing output property in its line', () => expect(lacking()).toEqual(['4 TS2551', '6 TS2322']))

  const untyped = compiled(
    ...start,
    "const word: string = 'grep'",
    'const input: JsonObject = {}',
    "const other = [kernel.call('mcp__x__y'), kernel.call('unified_search', { action: word }), kernel.call('unified_search', input), kernel.call('grep_file', { pattern: 'x' })]",
    "other.push(kernel.call('unified_search', { action: 'grep', query: 'x' }))",
    'for (const result of await Promise.all(other)) if (result.ok) { const output: JsonObject = result.output; console.log(output) }',
    'export type { Context }',
  )
  it('leaves a call by another name, spelling or input untyped', () => expect(untyped()).toEqual([]))

  const declared = compiled(
    ...start,
    "declare module 'vtcode' { interface Slots { 'acme/count': { input: { path: string }; output: { words: number } } } }",
    "const counted = await kernel.call('acme', { action: 'count', path: 'a' })",
    'if (counted.ok) { const words: number = counted.output.words; console.log(words) }',
    'export type { Context, JsonObject }',
  )
  it('infers the output of a slot that a plugin declares', () => expect(declared()).toEqual([]))

  it('completes names of tools, inputs of an action and members of the output in an editor', () => {
    const editor = startEditor(join(project.root, 'typed.ts'))
    const complete = (...lines: string[]): string[] => editor.completions([...start, ...lines].join('\n'))
    expect(complete("await kernel.call('▮')")).toEqual(expect.arrayContaining(['unified_search', 'apply_patch']))
    expect(complete("await kernel.call('unified_search', { action: 'grep', ▮ })")).toEqual(
      expect.arrayContaining(['pattern', 'context_lines']),
    )
    const answer = complete(
      "const found = await kernel.call('unified_search', { action: 'grep', pattern: 'x' })",
      'if (found.ok) found.output.▮',
    )
    expect(answer).toEqual(expect.arrayContaining(['matches', 'total_matches']))
  })
})

/** One file in an editor, whose text changes from one question to the next. */
function startEditor(file: string): { completions(marked: string): string[] } {
  let [code, version] = ['', 0]
  const service = ts.createLanguageService({
    getCompilationSettings: () => options,
    getScriptFileNames: () => [file],
    getScriptVersion: (name) => (name === file ? `${version}` : '1'),
    getScriptSnapshot: (name) =>
      name === file
        ? ts.ScriptSnapshot.fromString(code)
        : ts.sys.fileExists(name)
          ? ts.ScriptSnapshot.fromString(ts.sys.readFile(name)!)
          : undefined,
    getCurrentDirectory: () => project.root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
    realpath: ts.sys.realpath!,
  })
  return {
    /** Returns what the editor offers at the mark. */
    completions(marked) {
      code = marked.replace('▮', '')
      version++
      return (service.getCompletionsAtPosition(file, marked.indexOf('▮'), {})?.entries ?? []).map(({ name }) => name)
    },
  }
}

describe('types of the other entry points', () => {
  const used = compiled(
    "import { createKernel } from 'vtcode'",
    "import { AgentError, createAgent, type Agent, type ThreadEvent } from 'vtcode/agent'",
    "import { bootKernel, testAction } from 'vtcode/test'",
    "await using booted = await bootKernel({ files: { 'a.txt': 'one' }, config: { policy: { mode: 'auto' } } })",
    "const read = await booted.call('unified_file', { action: 'read', path: 'a.txt' })",
    'if (read.ok) console.log(read.output.content.length)',
    'const events: ThreadEvent[] = []',
    "const agent: Agent = await createAgent(await createKernel(), { model: 'own/m', onEvent: (event) => void events.push(event) })",
    "const { exit_code } = await agent.run('go').catch((error: unknown) => { throw error instanceof AgentError ? new Error(error.message) : error })",
    "console.log(exit_code, testAction('unified_search/grep').map(({ title }) => title))",
  )
  it('compiles a program that uses every entry point', () => expect(used()).toEqual([]))
})
