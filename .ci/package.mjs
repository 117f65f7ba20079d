// What an installation weighs, and that it does everything with nothing else around it. Arguments: a folder, not below a repository, where the packed program was installed, and the tarball.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import {
  cpSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'

const most = { megabytes: 100, packages: 60, tarball: 6.7 }
const installed = join(process.argv[2], 'node_modules')

const files = readdirSync(installed, { recursive: true })
const blocks = new Map(
  files.map((name) => lstatSync(join(installed, name))).map(({ dev, ino, blocks }) => [`${dev} ${ino}`, blocks]),
)
const megabytes = Math.ceil([...blocks.values()].reduce((sum, count) => sum + count, 0) / 2048)
const packages = files.filter(
  (name) => /(^|node_modules\/)(@[^/]+\/)?[^/@][^/]*\/package\.json$/.test(name) && !/^\./.test(name),
).length
console.log(
  `installed: ${megabytes} MB, ${packages} packages; at most ${most.megabytes} MB and ${most.packages} packages`,
)
assert(megabytes <= most.megabytes && packages <= most.packages, 'The installation is too large.')
const tarball = statSync(process.argv[3]).size / 1e6
console.log(`tarball: ${tarball.toFixed(2)} MB, at most ${most.tarball} MB`)
assert(tarball <= most.tarball, 'The tarball is too large.')
const shipped = JSON.parse(readFileSync(join(installed, 'vtcode/package.json'), 'utf8'))
assert.deepEqual(
  [shipped.scripts, shipped.devDependencies],
  [undefined, undefined],
  'The package names what only a checkout needs.',
)
const waste = files.filter(
  (name) =>
    /^vtcode\/(.*\.(map|tsbuildinfo|wasm)$|.*\.test\.[jt]s$|.*\.npmignore$)/.test(name) &&
    !/^vtcode\/dist\/skills\//.test(name),
)
assert.deepEqual(waste, [], 'The package holds what nobody needs.')
const programs = files
  .filter((name) => /@ast-grep\/.*\/(ast-grep(\.exe)?|.*\.node)$|node-pty.*\/pty\.node$/.test(name))
  .map((name) => name.replace(/^.*\//, ''))
assert.deepEqual([...programs].sort(), [...new Set(programs)].sort(), 'A program came twice.')

const work = mkdtempSync(join(tmpdir(), 'vtcode-package-'))
const bin = join(installed, 'vtcode/dist/core/bin.js')
const env = {
  PATH: process.env.PATH,
  HOME: join(work, 'home'),
  PEER_API_KEY: 'key-of-the-peer',
  PACKAGED_API_KEY: 'key-of-the-peer',
  VTCODE_AST_GREP_NO_INSTALL: '1',
}
const put = (path, text) => {
  mkdirSync(dirname(join(work, path)), { recursive: true })
  writeFileSync(join(work, path), typeof text === 'string' ? text : JSON.stringify(text))
}
const vtcode = (...args) =>
  new Promise((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [bin, ...args],
      { cwd: join(work, 'ws'), env, maxBuffer: 1e8 },
      (error, stdout, stderr) =>
        error
          ? reject(new Error(`vtcode ${args.join(' ')} ends with ${error.code}:\n${stdout}\n${stderr}`))
          : resolve(stdout),
    )
    child.stdin.end()
  })
/** The result of a call; throws where it failed. */
async function call(tool, input, ...flags) {
  const result = JSON.parse(await vtcode('call', ...flags, tool, '--input', JSON.stringify(input)))
  console.log(`ok  ${tool} ${input.action ?? ''} ${input.path ?? ''}`)
  return result
}

const sources = {
  'a.ts': 'export function f(): void {}\n',
  'a.tsx': 'export const F = () => <p />\nexport function g() {}\n',
  'a.js': 'export function f() {}\n',
  'a.py': 'def f():\n    pass\n',
  'a.rs': 'pub fn f() {}\n',
  'a.go': 'package a\n\nfunc F() {}\n',
  'A.java': 'class A {\n  void f() {}\n}\n',
  'a.c': 'int f(void) { return 1; }\n',
  'a.cpp': 'class A {};\n',
  'a.cs': 'class A { void F() {} }\n',
  'a.rb': 'def f\nend\n',
  'a.php': '<?php\nfunction f() {}\n',
  'a.kt': 'fun f() {}\n',
  'a.swift': 'func f() {}\n',
  'a.md': '# A\n',
  'a.bash': 'f() { true; }\n',
  'a.css': '.a { color: red }\n',
  'a.dart': 'void f() {}\n',
  'a.ex': 'defmodule A do\n  def f, do: 1\nend\n',
  'a.hs': 'module A where\nf :: Int\nf = 1\n',
  'a.hcl': 'resource "a" "b" {}\n',
  'a.html': '<h1 id="a">A</h1>\n',
  'a.json': '{"a": 1}\n',
  'a.lua': 'function f() end\n',
  'a.nix': '{ a = 1; }\n',
  'a.scala': 'object A { def f = 1 }\n',
  'a.toml': 'a = 1\n',
  'a.yaml': 'a: 1\n',
}

/** A web page, and a model that says one word. */
const server = createServer((request, response) => {
  if (request.method === 'GET')
    return response
      .writeHead(200, { 'content-type': 'text/html' })
      .end(
        '<html><body><article><h1>Title</h1><p>A paragraph about <b>tools</b> that is long enough to be read.</p></article></body></html>',
      )
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const chunk = (delta, finish_reason = null) =>
    `data: ${JSON.stringify({ id: '1', object: 'chat.completion.chunk', created: 1, model: 'm', choices: [{ index: 0, delta, finish_reason }], usage: finish_reason && { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 } })}\n\n`
  response.end(`${chunk({ role: 'assistant', content: 'Done.' })}${chunk({}, 'stop')}data: [DONE]\n\n`)
})
await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve))
const url = `http://127.0.0.1:${server.address().port}`
for (const [name, text] of Object.entries(sources)) put(`ws/${name}`, text)
const provider = { base_url: `${url}/v1`, models: ['m'] }
cpSync(new URL('../test/fixtures/mcp/server.mjs', import.meta.url), join(work, 'server.mjs'))
put(
  'ws/settings.ts',
  "import { defineConfig } from 'vtcode'\n\nconst mode: string = 'plan'\nexport default defineConfig({ policy: { mode } })\n",
)
put(
  'acme/vtcode/say.yaml',
  'name: say\ndescription: Say it.\neffects: [read]\ninput: { required: [text], properties: { text: { type: string } } }\nmcp: { server: other, tool: echo }\n',
)
put('home/.vtcode/vtcode.config.json', {
  web: { private_hosts: ['127.0.0.1'] },
  policy: { allow: ['unified_search/web', 'unified_exec', 'say'] },
  mcp: { servers: { other: { command: process.execPath, args: [join(work, 'server.mjs'), work] } } },
  custom_providers: [
    { name: 'peer', api_format: 'openai-chat', ...provider },
    { name: 'packaged', api_format: 'ai-sdk', package: '@ai-sdk/openai-compatible', ...provider },
  ],
})

try {
  const read = await call('unified_file', { action: 'read', path: 'a.ts' })
  assert.equal(read.output.content, sources['a.ts'])
  assert.match(await vtcode('--config', 'settings.ts', 'config', 'show'), /plan/)
  console.log('ok  settings in TypeScript')
  for (const path of Object.keys(sources)) {
    const { output } = await call('unified_search', { action: 'outline', path, items: 'all' })
    assert(output.total_symbols > 0, `${path} has no symbols`)
  }
  // In one process and in many: by the library and by the program.
  for (const path of ['a.ts', 'a.py'])
    assert(
      (
        await call('unified_search', {
          action: 'structural',
          kind: path === 'a.ts' ? 'function_declaration' : 'function_definition',
          path,
        })
      ).output.matches.length === 1,
    )
  assert((await call('unified_search', { action: 'grep', pattern: 'class A', path: '.' })).output.matches.length > 2)
  assert.match((await call('unified_search', { action: 'web', url })).output.content, /A paragraph about \*\*tools\*\*/)
  assert.match(
    JSON.stringify(await call('unified_exec', { action: 'run', command: 'printf hello', tty: true }, '--mode', 'auto')),
    /hello/,
  )
  await vtcode('plugins', 'add', join(work, 'acme'), '--yes')
  assert.match(JSON.stringify(await call('say', { text: 'hello' }, '--mode', 'auto')), /hello/)
  console.log(await vtcode('mcp', '--doctor'))
  for (const model of ['peer/m', 'packaged/m'])
    assert.match(await vtcode('exec', '--model', model, 'Say that you are done.'), /Done/)
  console.log('ok  exec')
} finally {
  server.close()
  rmSync(work, { recursive: true, force: true })
}
