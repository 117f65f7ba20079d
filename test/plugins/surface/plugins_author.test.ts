import { execFileSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import ts from 'typescript'
import { beforeAll, describe, expect, it } from 'vitest'
import { tempWorkspace, type TempWorkspace } from 'vtcode/test'
import { createPlugin, files, listTemplates, templates, testPlugins, usePlugin } from '../../../.ci/author.mjs'
import { rounds } from '../../support/exec.js'
import { holdForFile } from '../../support/held.js'
import { bin, vtcode } from '../../support/program.js'

const project = dirname(dirname(dirname(bin)))

/**
 * Runs the compiler like `tsc -p` in a folder, without the declarations of Node and the language; files outside of the
 * folder are parsed and checked once.
 */
function compilerOf(folder: string) {
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
    join(folder, 'tsconfig.json'),
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic: ({ messageText }) => expect.fail(String(messageText)) },
  )!
  const host = ts.createCompilerHost(options)
  const parsed = new Map<string, ts.SourceFile | undefined>()
  const { getSourceFile } = host
  host.getSourceFile = (file, ...how) => {
    if (dirname(file) === folder) return getSourceFile(file, ...how)
    if (!parsed.has(file)) parsed.set(file, getSourceFile(file, ...how))
    return parsed.get(file)
  }
  let program: ts.Program | undefined
  return (): string => {
    const before = program
    const isChecked = ({ fileName }: ts.SourceFile): boolean => before !== undefined && dirname(fileName) !== folder
    program = ts.createProgram(fileNames, options, host, before)
    const checked = program
      .getSourceFiles()
      .filter(
        (file) =>
          !isChecked(file) &&
          !program!.isSourceFileDefaultLibrary(file) &&
          !/\/node_modules\/(?:@types|undici-types)\//.test(file.fileName),
      )
    const found = [
      ...program.getOptionsDiagnostics(),
      ...program.getGlobalDiagnostics(),
      ...checked.flatMap((file) => [
        ...program!.getSyntacticDiagnostics(file),
        ...program!.getSemanticDiagnostics(file),
      ]),
    ]
    if (!before) expect(checked.some(({ fileName }) => fileName.includes('/dist/types/'))).toBe(true)
    return ts.formatDiagnostics(found, host)
  }
}

describe('the workflow of a plugin author', () => {
  // CI takes the same steps with the packed program, each as a process.
  let made: TempWorkspace
  const run = (words: string[]) => vtcode(made, words)
  beforeAll(async () => {
    made = holdForFile(await tempWorkspace(files))
    for (const template of templates) await createPlugin(template, run)
  })
  it('leads from new in an empty folder to passing tests, for each template of the help', async () => {
    expect(await listTemplates(run)).toEqual([...templates].sort())
    await testPlugins('.', templates.length, run)
  })
  // One for each way in which a plugin runs; CI and the soak form follow all.
  it.each(rounds(['js', 'command', 'mcp', 'policy', 'package'], templates))(
    'leads from new over validate and add to a call, for the template %s',
    async (template) => {
      await usePlugin(template, run)
    },
  )
  it('generates types that the compiler checks a handler against and that follow the manifest', async () => {
    await using made = await tempWorkspace()
    expect((await vtcode(made, ['plugins', 'new', 'my-ts', '--template', 'ts'])).code).toBe(0)
    const folder = join(made.root, 'my-ts')
    mkdirSync(join(folder, 'node_modules/@types'), { recursive: true })
    symlinkSync(project, join(folder, 'node_modules/vtcode'))
    symlinkSync(join(project, 'node_modules/@types/node'), join(folder, 'node_modules/@types/node'))
    const compile = compilerOf(folder)
    expect(compile()).toBe('')
    const manifest = join(folder, 'vtcode.yaml')
    writeFileSync(
      manifest,
      readFileSync(manifest, 'utf8').replace('words: { type: integer }', 'words: { type: string }'),
    )
    expect(await vtcode(made, ['plugins', 'types', 'my-ts', '--check'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is out of date'),
    })
    expect((await vtcode(made, ['plugins', 'types', 'my-ts'])).code).toBe(0)
    expect(compile()).toMatch(/my_ts\.ts.*not assignable/)
    expect((await vtcode(made, ['plugins', 'types', 'my-ts', '--check'])).code).toBe(0)
  })
  it('writes types of every form of schema, and overwrites no foreign file', async () => {
    await using made = await tempWorkspace({
      'p/vtcode.yaml':
        "name: all_forms\ndescription: x\neffects: [read]\nmodule: ./a.js\ninput:\n  required: [a]\n  properties:\n    a: { enum: [one, \"it's\"], description: 'Ends a comment: */ export const x = 1' }\n    b: { type: array, items: { type: [string, 'null'] } }\n    \"c'd\": { type: integer, default: 3 }\n    e: { $ref: '#/$defs/point' }\n    f: { contentEncoding: base64 }\n  $defs: { point: { type: object, required: [x], properties: { x: { type: number } } } }\n",
      'p/a.js': 'export default () => ({ ok: true, output: {} })\n',
      'q/vtcode.yaml': 'name: q\ndescription: x\neffects: [read]\nmodule: ./a.js\n',
      'q/a.js': 'export default () => ({ ok: true, output: {} })\n',
      'q/types.d.ts': 'export type Mine = 1\n',
    })
    expect((await vtcode(made, ['plugins', 'types', 'p'])).code).toBe(0)
    const text = (await made.read('p/types.d.ts'))!
    expect(text).toContain("a: 'one' | 'it\\'s'")
    expect(text).toContain('b?: (string | null)[]')
    expect(text).toContain("'c\\'d': number")
    expect(text).toContain('e?: AllFormsPoint')
    expect(text).not.toMatch(/^export const/m)
    expect(await vtcode(made, ['plugins', 'types', 'q'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('nothing was written'),
    })
    expect(await made.read('q/types.d.ts')).toBe('export type Mine = 1\n')
  })
  it('reports failing tests and missing tests', async () => {
    await using made = await tempWorkspace({
      'p/vtcode.yaml': 'name: p\ndescription: x\nrun: [echo]\n',
      'p/a.test.js': "import { test } from 'node:test'\ntest('fails', () => { throw new Error('on purpose') })\n",
      'q/vtcode.yaml': 'name: q\ndescription: x\nrun: [echo]\n',
    })
    expect(await vtcode(made, ['plugins', 'test', 'p'], { env: { API_KEY: 'secret' } })).toMatchObject({
      code: 1,
      stdout: expect.stringMatching(/on purpose[\s\S]*fail 1/),
    })
    expect(await vtcode(made, ['plugins', 'test', 'q'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No test found'),
    })
    expect((await vtcode(made, ['plugins', 'test', 'none'])).stderr).toContain('does not exist')
  })
  it('creates plugin tests for vitest that pass', async () => {
    await using made = await tempWorkspace()
    expect((await vtcode(made, ['plugins', 'new', 'v', '--tests', 'vitest'])).code).toBe(0)
    expect(await made.read('v/v.test.ts')).toContain("import { test } from 'vitest'")
    expect(JSON.parse((await made.read('v/package.json'))!)).toMatchObject({
      scripts: { test: expect.stringContaining('vitest run') },
      devDependencies: { vitest: expect.any(String) },
    })
    mkdirSync(join(made.root, 'v/node_modules'))
    for (const name of ['vtcode', 'vitest'])
      symlinkSync(
        name === 'vtcode' ? project : join(project, 'node_modules', name),
        join(made.root, 'v/node_modules', name),
      )
    expect(
      execFileSync(
        process.execPath,
        [join(project, 'node_modules/vitest/vitest.mjs'), 'run', '--root', join(made.root, 'v')],
        { encoding: 'utf8', env: { PATH: process.env['PATH'], HOME: made.home } },
      ),
    ).toMatch(/1 passed/)
  })
})
