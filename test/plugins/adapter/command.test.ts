import { execFileSync } from 'node:child_process'
import { chmod, readdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { bootKernel, matches, tempWorkspace, type Booted, type TempWorkspace } from 'vtcode/test'
import type { JsonObject, Result } from 'vtcode'
import { holdForFile } from '../../support/held.js'
import { fc, runs } from '../../support/property.js'

interface Bench extends AsyncDisposable {
  booted: Booted
  plugins: TempWorkspace
  call(input?: JsonObject, tool?: string): Promise<Result>
}

// Prints its arguments, environment and standard input as one document. Python starts in a fraction of the time of Node.
const python = execFileSync('python3', ['-c', 'import sys; print(sys.executable)'], { encoding: 'utf8' }).trim()
const teller = `#!${python} -IS
import json, os, sys
print(json.dumps({'argv': sys.argv[1:], 'env': dict(os.environ), 'cwd': os.getcwd(), 'input': sys.stdin.read()}))
`
const properties = {
  a: { type: 'string' },
  list: { type: 'array', items: { type: 'string' } },
  flag: { type: 'boolean' },
  n: { type: 'number' },
  obj: { type: 'object' },
  file: { type: 'string', format: 'workspace-path' },
  state: { enum: ['-on', 'off'] },
  range: { type: 'object', properties: { start: { type: 'integer' } } },
}

/** A kernel with command tools by their names; manifests are JSON, which is YAML too. */
async function benchOf(manifests: Record<string, JsonObject>, files: Record<string, string> = {}): Promise<Bench> {
  const texts = Object.entries(manifests).map(([name, manifest]) => [
    `${name}.yaml`,
    JSON.stringify({ name, description: 'A tool.', input: { properties }, parse: 'json', ...manifest }),
  ])
  const plugins = await tempWorkspace({ ...Object.fromEntries(texts), tell: teller })
  await chmod(join(plugins.root, 'tell'), 0o755)
  const booted = await bootKernel({
    manifests: texts.map(([file]) => join(plugins.root, file!)),
    files,
    env: { VTCODE_TEST_GIVEN: 'given' },
  })
  return {
    booted,
    plugins,
    call: (input = {}, tool = 'tool') => booted.call(tool, input),
    async [Symbol.asyncDispose]() {
      await booted[Symbol.asyncDispose]()
      await plugins[Symbol.asyncDispose]()
    },
  }
}

const bench = (manifest: JsonObject, files?: Record<string, string>): Promise<Bench> =>
  benchOf({ tool: manifest }, files)
const argvOf = (result: Result): unknown => (result.ok ? result.output.argv : result.error)

describe('command tool: argv template', () => {
  const rendered: [run: unknown[], input: JsonObject, argv: unknown[]][] = [
    [['as written', '{{x}}', ''], {}, ['as written', '{x}', '']],
    [['{a}', '--x={a}', '{a}:{n}'], { a: 'v w', n: 1.5 }, ['v w', '--x=v w', 'v w:1.5']],
    [['{list...}'], { list: ['a', '', 'b c'] }, ['a', '', 'b c']],
    [['{list...}', 'end'], {}, ['end']],
    [[{ if: 'flag', then: ['-f'], else: ['-n'] }], { flag: true }, ['-f']],
    [[{ if: 'flag', then: ['-f'], else: ['-n'] }], { flag: false }, ['-n']],
    [[{ if: 'a', then: ['--a', '{a}'] }, 'end'], {}, ['end']],
    [[{ if: 'flag', then: ['x', '{a}'] }], { flag: true }, ['x']],
    [[{ each: 'list', args: ['--glob', '{item}'] }], { list: ['a', 'b'] }, ['--glob', 'a', '--glob', 'b']],
    [[{ json: 'list' }, { json: 'obj' }], { list: ['"'], obj: { a: [1] } }, ['["\\""]', '{"a":[1]}']],
    [['{range.start}'], { range: { start: 3 } }, ['3']],
    [['{a}'], { a: '$& $1 $(id) `id` {n} {{ ; rm -rf / \' " \n' }, ['$& $1 $(id) `id` {n} {{ ; rm -rf / \' " \n']],
    [['--', '{a}'], { a: '-rf' }, ['--', '-rf']],
    [['--x={a}'], { a: '-rf' }, ['--x=-rf']],
    [['{state}'], { state: '-on' }, ['-on']],
    [['{file}'], { file: '-rf' }, ['./-rf']],
    [['{file}'], { file: 'src/../src/a.ts' }, ['src/a.ts']],
  ]
  /** One kernel with a tool for each template. */
  let all: Bench
  const templates: unknown[][] = []
  const toolOf = (run: unknown[]): string => `tool_${templates.indexOf(run)}`
  beforeAll(async () => {
    templates.push(...[...rendered, ...refused, ...invalid].map(([run]) => run))
    const manifests = templates.map((run, at) => [
      `tool_${at}`,
      { run: at < templates.length - invalid.length ? ['./tell', ...run] : run },
    ])
    all = holdForFile(await benchOf(Object.fromEntries(manifests)))
  })
  it('lists no tool whose template is invalid, and reports it with its file', () => {
    const listed = new Set(all.booted.kernel.list().map(({ slot }) => slot))
    const reported = all.booted.kernel
      .diagnostics()
      .filter(({ code }) => code === 'VT_MANIFEST_INVALID')
      .map(({ files: [file] }) => file!.split('/').at(-1))
    const names = invalid.map(([run]) => toolOf(run))
    expect([names.filter((name) => listed.has(name)), reported.sort()]).toEqual([
      [],
      names.map((name) => `${name}.yaml`).sort(),
    ])
    expect(rendered.filter(([run]) => !listed.has(toolOf(run)))).toEqual([])
  })

  it('reports a program that is not on the search path before the first call', async () => {
    await using made = await bench({ run: ['no_such_program_here', '{a}'] })
    expect(made.booted.kernel.diagnostics()).toMatchObject([
      { code: 'VT_PLUGIN_REQUIRES', message: expect.stringContaining("the program 'no_such_program_here'") },
    ])
  })
  it.each(rendered)('renders the template %j with the input %j as %j', async (run, input, argv) => {
    expect(argvOf(await all.call(input, toolOf(run)))).toEqual(argv)
  })

  it('fills in the workspace and the plugin folder by name', async () => {
    await using made = await bench({ run: ['./tell', '{$workspace}', '{$plugin_root}/x'] })
    expect(argvOf(await made.call())).toEqual([made.booted.root, `${made.plugins.root}/x`])
  })

  const refused: [run: unknown[], input: JsonObject, what: string][] = [
    [['{a}'], { a: '-rf' }, 'an option in disguise'],
    [['{list...}'], { list: ['ok', '--no'] }, 'an option among items'],
    [[{ each: 'list', args: ['{item}'] }], { list: ['-x'] }, 'an option as item'],
    [['{a}{n}'], { a: '', n: -1 }, 'an option after an empty value'],
    [['{a}'], {}, 'an absent value'],
    [['{obj}'], { obj: {} }, 'an object where a scalar belongs'],
    [['{a}'], { a: 'x\0y' }, 'NUL'],
    [['{a}'], { a: '\ud800' }, 'half a character'],
    [['{a}'], { a: 'x'.repeat(200_000) }, 'an argument over 128 KiB'],
    [['{list...}'], { list: Array.from({ length: 20 }, () => 'x'.repeat(100_000)) }, 'more than 1 MiB together'],
  ]
  it.each(refused.map(([run, input, what]) => [what, run, input] as const))('refuses %s', async (_, run, input) => {
    matches(await all.call(input, toolOf(run)), { ok: false, error: { code: 'VT_COMMAND_ARGUMENT', retryable: false } })
  })

  it('passes an argument that begins with a dash when allow_dash names it', async () => {
    await using made = await bench({ run: ['./tell', '{a}'], allow_dash: ['a'] })
    expect(argvOf(await made.call({ a: '-rf' }))).toEqual(['-rf'])
  })

  const invalid: [run: unknown[]][] = [
    [['{a}']],
    [['./tell', '{missing}']],
    [['./tell', '{__proto__}']],
    [['./tell', '{a']],
    [['./tell', 'x{list...}']],
    [['./tell', '{$env.HOME}']],
    [['./tell', '{$secret.x}']],
    [['./tell', { unknown: 'a' }]],
    [['sh', '-c', '{a}']],
    [['bash', '-ec', 'echo {a}']],
    [['env', 'python3', '-c', 'print({a})']],
    [['node', '--eval={a}']],
    [['node', '-e', { if: 'a', then: ['{a}'] }]],
  ]
  it.each(invalid)('refuses the argv template %j as an invalid manifest', async (run) => {
    matches(await all.call({ a: 'x' }, toolOf(run)), { ok: false, error: { code: 'VT_MANIFEST_INVALID' } })
  })

  it('turns a value into exactly one argument and never reads a value as a template', async () => {
    await using made = await bench({
      run: ['./tell', 'x{a}', '--y={a}', '--', '{a}', { each: 'list', args: ['<{item}>'] }],
    })
    const nasty = fc.string({
      unit: fc.constantFrom('{', '}', 'a', '$', '&', ' ', '\n', "'", '"', '\\', '`', '*', '-', 'é', '😀', '.', 'item'),
    })
    await fc.assert(
      fc.asyncProperty(nasty, fc.array(nasty, { maxLength: 3 }), async (a, list) => {
        expect(argvOf(await made.call({ a, list }))).toEqual([
          `x${a}`,
          `--y=${a}`,
          '--',
          a,
          ...list.map((item) => `<${item}>`),
        ])
      }),
      { numRuns: runs(12) },
    )
  })
})

describe('command tool', () => {
  it('runs a command tool with a short environment and only the variables that its manifest lists', async () => {
    process.env.VTCODE_TEST_CANARY = 'sk-CANARY'
    await using made = await bench({
      run: ['./tell'],
      env: { PLAIN: 'x', GIVEN: { env: 'VTCODE_TEST_GIVEN' }, FROM: { input: 'a' } },
    })
    const result = await made.call({ a: 'v' })
    delete process.env.VTCODE_TEST_CANARY
    expect(JSON.stringify(result)).not.toContain('sk-CANARY')
    const env = {
      PLAIN: 'x',
      GIVEN: 'given',
      FROM: 'v',
      VTCODE: '1',
      TERM: 'dumb',
      NO_COLOR: '1',
      VTCODE_WORKSPACE: made.booted.root,
    }
    matches(result, { ok: true, output: { env } })
  })

  it('refuses a manifest that sets LD_PRELOAD, PATH, NODE_OPTIONS or GIT_PAGER from an input', async () => {
    for (const name of ['LD_PRELOAD', 'PATH', 'NODE_OPTIONS', 'GIT_PAGER']) {
      await using made = await bench({ run: ['./tell'], env: { [name]: { input: 'a' } } })
      matches(await made.call({ a: 'x' }), { ok: false, error: { code: 'VT_MANIFEST_INVALID' } })
    }
  })

  it('runs a command tool in the workspace, the plugin folder, the data folder or a folder named by the input', async () => {
    await using here = await bench({ run: ['./tell'] })
    await using own = await bench({ run: ['./tell'], cwd: 'plugin' })
    await using data = await bench({ run: ['./tell', '{$plugin_data}'], cwd: 'data' })
    await using named = await bench({ run: ['./tell'], cwd: { input: 'file' } }, { 'src/a.ts': '' })
    matches(await here.call(), { ok: true, output: { cwd: here.booted.root } })
    matches(await own.call(), { ok: true, output: { cwd: own.plugins.root } })
    const { output } = (await data.call()) as unknown as { output: { cwd: string; argv: string[] } }
    expect(output.argv).toEqual([output.cwd])
    expect(output.cwd).toContain(join(data.booted.home, '.vtcode/plugin-data/call-'))
    matches(await named.call({ file: 'src' }), { ok: true, output: { cwd: `${named.booted.root}/src` } })
    matches(await named.call({ file: 'src/a.ts' }), { ok: false, error: { code: 'VT_PATH_NOT_DIRECTORY' } })
  })

  it('refuses a path argument that leads out of the workspace, by text or by link', async () => {
    await using made = await bench({ run: ['./tell', '{file}'] })
    await symlink('/etc', join(made.booted.root, 'link'))
    matches(await made.call({ file: '../x' }), { ok: false, error: { code: 'VT_PATH_OUTSIDE' } })
    matches(await made.call({ file: 'link/passwd' }), { ok: false, error: { code: 'VT_PATH_OUTSIDE' } })
    expect(argvOf(await made.call({ file: 'new.txt' }))).toEqual(['new.txt'])
  })

  it('passes standard input as the manifest says, else an empty one', async () => {
    await using none = await bench({ run: ['./tell'] })
    await using text = await bench({ run: ['./tell'], stdin: '{a}' })
    await using whole = await bench({ run: ['./tell'], stdin: { json: '$input' } })
    matches(await none.call({ a: 'x' }), { ok: true, output: { input: '' } })
    matches(await text.call({ a: 'x\n{n}' }), { ok: true, output: { input: 'x\n{n}' } })
    matches(await whole.call({ a: 'x' }), { ok: true, output: { input: '{"a":"x"}' } })
  })

  it('refuses a program that exists only inside the workspace', async () => {
    await using made = await bench({ run: ['vtcode-test-program'] })
    await writeFile(join(made.booted.root, 'vtcode-test-program'), teller, { mode: 0o755 })
    const path = process.env.PATH
    process.env.PATH = `.:${made.booted.root}:${path}`
    const result = await made.call()
    process.env.PATH = path
    matches(result, { ok: false, error: { code: 'VT_PLUGIN_REQUIRES', message: 're:.*vtcode-test-program.*' } })
  })

  it('asks before it runs a command tool in mode auto', async () => {
    await using made = await bench({ run: ['echo', 'hello'], parse: 'text' })
    await using auto = await bootKernel({ mode: 'auto', manifests: [join(made.plugins.root, 'tool.yaml')] })
    matches(await auto.call('tool'), { ok: false, error: { code: 'VT_POLICY_NEEDS_APPROVAL' } })
    matches(await auto.call('tool', {}, { approve: () => true }), { ok: true, output: { stdout: 'hello\n' } })
  })
})

describe('command tool: output', () => {
  const script = (body: string, more: JsonObject = {}): Promise<Bench> => bench({ run: ['sh', '-c', body], ...more })

  it.each([
    ['text', 'printf "a\\nb\\n"; printf c >&2', { stdout: 'a\nb\n', stderr: 'c', exit_code: 0 }],
    ['lines', 'printf "a\\r\\n\\nb\\n"', { lines: ['a', '', 'b'] }],
    ['lines', 'true', { lines: [] }],
    ['jsonl', 'printf "1\\n2\\n"', { items: [1, 2] }],
    ['json', 'printf "[1]"', { value: [1] }],
  ])('parses printed output as %s: %s', async (parse, body, output) => {
    await using made = await script(body, { parse })
    matches(await made.call(), { ok: true, output })
  })

  it('selects a part of a printed document and accepts a whole result', async () => {
    const document = JSON.stringify({ a: { 'b/c': [1, { d: 2 }] } })
    const failure = JSON.stringify({ ok: false, error: { code: 'VT_PATH_NOT_FOUND', message: 'No.' } })
    await using part = await bench({ run: ['printf', '%s', document.replace(/[{}]/g, '$&$&')], select: '/a/b~1c/1' })
    await using whole = await bench({ run: ['printf', '%s', failure.replace(/[{}]/g, '$&$&')] })
    matches(await part.call(), { ok: true, output: { d: 2 } })
    matches(await whole.call(), { ok: false, error: { code: 'VT_PATH_NOT_FOUND', message: 'No.' } })
  })

  it('fails with VT_COMMAND_OUTPUT and quotes output that does not parse as the manifest declares', async () => {
    await using made = await script('printf "not json"')
    matches(await made.call(), { ok: false, error: { code: 'VT_COMMAND_OUTPUT', message: 're:.*not json.*' } })
  })

  it('writes output over the limit to a spool file whole and adds the call that reads on', async () => {
    await using made = await script('i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done', {
      parse: 'text',
      max_output_bytes: 1000,
    })
    const result = await made.call()
    matches(result, {
      ok: true,
      output: { truncated: true, next: { tool: 'unified_file', input: { action: 'read' } } },
    })
    const [name] = (await readdir(join(made.booted.root, '.vtcode/spool'))).filter((file) => file !== '.gitignore')
    const whole = await made.booted.read(`.vtcode/spool/${name}`)
    expect(whole).toBe(Array.from({ length: 3000 }, (_, index) => `line ${index}\n`).join(''))
    expect(result.ok && (result.output.stdout as string)).toBe(whole!.slice(0, 1000))
  })

  it('redacts secrets in the output of a program', async () => {
    const token = `ghp_${'Ab0'.repeat(12)}`
    await using made = await script(`i=0; while [ $i -lt 3000 ]; do echo "line $i ${token}"; i=$((i+1)); done`, {
      parse: 'text',
      max_output_bytes: 1000,
    })
    matches(await made.call(), { ok: true, output: { truncated: true } })
    const [name] = (await readdir(join(made.booted.root, '.vtcode/spool'))).filter((file) => file !== '.gitignore')
    const kept = await made.booted.read(`.vtcode/spool/${name}`)
    expect(kept).toMatch(/^line 0 \[redacted:github_token\]\*+\n/)
    expect(kept).not.toContain('ghp_')
  })

  it('redacts a secret in an error of a program before the text is cut', async () => {
    const token = `ghp_${'Ab0'.repeat(12)}`
    await using failed = await script(`printf '%0390d ${token}' 0 >&2; exit 2`)
    const told = await failed.call()
    expect(told).toMatchObject({ ok: false, error: { code: 'VT_COMMAND_EXIT' } })
    await using unread = await script(`printf '%0190d ${token}' 0`, { parse: 'json' })
    const unparsed = await unread.call()
    expect(unparsed).toMatchObject({ ok: false, error: { code: 'VT_COMMAND_OUTPUT' } })
    expect(JSON.stringify([told, unparsed])).not.toContain('ghp_')
  })

  it('maps the exit codes that the manifest explains and fails with VT_COMMAND_EXIT for others', async () => {
    const exit = {
      ok: [0, 3],
      empty: [1],
      map: { '4': { code: 'TOOL_AUTH', message: 'Not logged in.', retryable: true } },
    }
    const body = 'echo "trouble" >&2; exit $VTCODE_CODE'
    const run = async (code: number): Promise<Result> => {
      await using made = await bench({
        run: ['sh', '-c', body],
        env: { VTCODE_CODE: String(code) },
        parse: 'lines',
        exit,
      })
      return await made.call()
    }
    matches(await run(3), { ok: true })
    matches(await run(1), { ok: true, output: { lines: [] } })
    matches(await run(4), { ok: false, error: { code: 'TOOL_AUTH', message: 'Not logged in.', retryable: true } })
    matches(await run(2), {
      ok: false,
      error: { code: 'VT_COMMAND_EXIT', details: { exit_code: 2, stderr_tail: 'trouble' } },
    })
  })

  it('stops a program at the time limit, even when a grandchild holds the pipe', async () => {
    await using made = await script('sleep 30 & sleep 30', { timeout_secs: 1 })
    const started = performance.now()
    matches(await made.call(), { ok: false, error: { code: 'VT_CALL_TIMEOUT', retryable: true } })
    expect(performance.now() - started).toBeLessThan(12500)
  })

  it('stops a program when the caller aborts', async () => {
    await using made = await script('sleep 30')
    const abort = new AbortController()
    setTimeout(() => abort.abort(), 100)
    matches(await made.booted.call('tool', {}, { signal: abort.signal }), {
      ok: false,
      error: { code: 'VT_CALL_INTERRUPTED' },
    })
  })
})
