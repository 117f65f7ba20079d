// Makes the program start fast: few files to load, little to compile, nothing made that is not used.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { isBuiltin } from 'node:module'
import { dirname, join, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Script } from 'node:vm'
import { rolldown } from 'rolldown'
import { parseAst } from 'rolldown/parseAst'
import { minifySync } from 'rolldown/utils'
import { keepLicence, writeLicences } from './licences.mjs'
import { folderOf, makeVendored, packageOf, vendor, vendored } from './vendor.mjs'

const here = (path) => fileURLToPath(new URL(path, import.meta.url))

/** What stays in node_modules: it is compiled for a machine or brings wasm, or it is required and hardly ever met. All of it is a dependency. */
const apart =
  /^(?:node:|@(?:ast-grep|jitl|lydell|vscode)\/|(?:bullmq|gray-matter|ioredis|node-pty|quickjs-emscripten-core|typescript|web-tree-sitter)(?:$|\/))/
/** What runs before the rest. */
const fronts = ['plugins/surface/mcp/front.js', 'plugins/surface/chat/front.js', 'plugins/surface/acp/front.js']
/** What a user begins. Node starts a script without its loader of modules, which takes longer to be ready than all else of a short answer. */
const program = 'core/bin.js'
/** One run of the program, for tests that call it in their own process. */
const callable = 'core/program_run.js'
/** What a thread or process begins with. */
const begun = [
  program,
  'plugins/adapter/isolated/child.js',
  'plugins/surface/plugins/test_child.js',
  'plugins/surface/plugins/validate_child.js',
  'plugins/unified_exec/isolate/worker.js',
  'plugins/unified_file/pdf/worker.js',
  'plugins/unified_search/outline_tree_sitter/worker.js',
  'plugins/unified_search/web/worker.js',
]
const effects = new RegExp(`/(?:core/main|${begun.map((name) => name.slice(0, -'.js'.length)).join('|')})\\.ts$`)
/** What strangers import, and settings in code. */
const doors = [
  'core/index.js',
  'plugins/agent/index.js',
  'plugins/agent/records/index.js',
  'plugins/tui/index.js',
  'plugins/surface/mcp/embedded.js',
  'core/config/evaluate.js',
]
/** What a run of the agent, or a call, needs in any case. Libraries have folders of such names too. */
const groups = [
  // What speaks before the kernel is there.
  {
    name: 'front',
    priority: 2,
    test: /^(?!.*\/node_modules\/).*\/core\/(?:cli\/(?:compiled|flags)|system\/(?:program_files|seal|small_file|state_file)|shapes\/types|config\/(?:root|places)|documents\/(?:watch|package_file))\.ts/,
  },
  // What a screen shows before the kernel is there.
  {
    name: 'text',
    priority: 2,
    test: /^(?!.*\/node_modules\/).*\/core\/(?:shapes\/errors|text\/(?:secrets|visible))\.ts/,
  },
  {
    name: 'kernel',
    test: /^(?!.*\/node_modules\/).*\/core\/(?!bin|main|program_run|cli|config\/evaluate|trust\/module_hooks)|\/helpers\/esm\/usingCtx\.js$/,
  },
  { name: 'lib', test: /\/plugins\/lib\/(?:base|process|state|values)\// },
  { name: 'terminal', test: /\/plugins\/lib\/terminal\/(?!commands|prompts)/ },
  { name: 'read', test: /\/plugins\/lib\/files\/(?:read|missing)/ },
  // What happened is looked at by verbs of its own, and as `vtcode/trace` by strangers.
  { name: 'records', priority: 1, test: /\/plugins\/agent\/(?:records|runs)\// },
  // Runs on other machines are loaded when they are used.
  { name: 'agent', test: /\/plugins\/agent\/(?!remote\/)/ },
  // A compactor that needs the sandbox, which is with the policies: within them, each would need the other first.
  { name: 'servers', priority: 1, test: /\/plugins\/(?:lib\/language_server\/|compaction\/diagnostics)/ },
  { name: 'policies', test: /\/plugins\/(?:policy|compaction|lib\/(?:rules|git|steering|sandbox|hooks(?!\/http)))\// },
]

/**
 * Our modules, and the libraries they stand on, in a tenth of the files: what a start pays for is less the code than the files to find.
 * Every module that a manifest names keeps its place; what several share lies in core/, once, so there is one kernel and one of
 * everything in a process, whichever way it came in. All are scripts, which `core/system/load.ts` loads; where Node or a stranger begins, a
 * module passes on what they export.
 */
export async function bundleProgram(catalogue) {
  const named = catalogue.flatMap(({ file, manifest }) => {
    const module = manifest.module ?? manifest.alias?.module
    return module === undefined ? [] : [join('manifests', file, '..', module)]
  })
  const entries = new Set([callable, ...doors, ...begun, ...fronts, ...named])
  const bundle = await rolldown({
    input: Object.fromEntries([...entries].map((name) => [name.slice(0, -'.js'.length), name.replace(/js$/, 'ts')])),
    platform: 'node',
    // Its paths are for types.
    tsconfig: false,
    external: apart,
    // package.json names what ships; these are its sources, and what they import for its effects.
    treeshake: { moduleSideEffects: [{ test: effects, sideEffects: true }] },
    plugins: [loader, vendored, late],
    resolve: {
      extensionAlias: { '.js': ['.ts', '.js'] },
      // A canvas that somebody has installed is nothing a page may draw on.
      // What `main` of jsonc-parser names asks for its own files in a way that no bundler follows.
      alias: {
        canvas: here('../node_modules/linkedom/commonjs/canvas-shim.cjs'),
        'jsonc-parser': here('../node_modules/jsonc-parser/lib/esm/main.js'),
      },
    },
    transform: { target: 'es2022' },
    // That some part is loaded lazily by one and at once by another is no mistake here; linkedom's CSS parser evaluates names of errors.
    checks: { ineffectiveDynamicImport: false, eval: false },
    preserveEntrySignatures: 'allow-extension',
  })
  mkdirSync(vendor, { recursive: true })
  await makeVendored()
  const { output } = await bundle.generate({
    format: 'cjs',
    exports: 'named',
    strict: true,
    entryFileNames: ({ name }) => (`${name}.js` === program ? 'core/_bin.cjs' : '[name].cjs'),
    chunkFileNames: ({ moduleIds }) => `core/_${packageOf(moduleIds.at(-1)) ?? '[name]'}.cjs`,
    comments: { annotation: false, jsdoc: false },
    codeSplitting: { includeDependenciesRecursively: false, groups },
  })
  for (const chunk of output) {
    const code = withImports(isForeign(chunk) ? shrink(chunk) : chunk.code)
    writeProgram(chunk.fileName, `(function (exports, require, module, __filename, __dirname, __import) {${code}\n})`)
  }
  for (const name of doors) writeProgram(name, passedOn(name, Object.keys(await import(here(`../build/${name}`)))))
  for (const name of begun) writeProgram(name, passedOn(name, []))
  writeFileSync(
    'dist/core/bin.cjs',
    "#!/usr/bin/env node\nrequire('./loader.cjs').load(__filename.replace(/bin\\.cjs$/, '_bin.cjs'));\n",
  )
  const loading = await rolldown({ input: here('../core/system/load.ts'), platform: 'node', tsconfig: false })
  await loading.write({ file: 'dist/core/loader.cjs', format: 'cjs' })
  cpSync('build/core/trust/module_hooks.js', 'dist/core/trust/module_hooks.js')
  const bundled = output.flatMap(({ moduleIds = [] }) => moduleIds.flatMap((id) => folderOf(id) ?? []))
  for (const folder of new Set(bundled)) keepLicence(folder)
  checkImports(output)
}

/** Returns whether a chunk is mostly code of other packages. Our own code stays readable in reports of errors. */
function isForeign({ modules }) {
  const lengthOf = (isOurs) =>
    Object.entries(modules)
      .filter(([id]) => (folderOf(id) === undefined) === isOurs)
      .reduce((sum, [, { code }]) => sum + (code?.length ?? 0), 0)
  return lengthOf(false) > 10 * lengthOf(true)
}

/** Makes a chunk a third smaller. Names of functions and classes stay, because libraries show and compare them. */
function shrink({ fileName, code }) {
  const { code: small, errors } = minifySync(fileName, code, {
    compress: { target: 'es2022', keepNames: { function: true, class: true } },
    mangle: { keepNames: true },
    codegen: { removeWhitespace: true },
  })
  if (errors.length > 0) throw new Error(`${fileName} cannot be made smaller: ${errors[0].message}`)
  return small
}

function writeProgram(fileName, text) {
  const file = join('dist', fileName)
  // What cannot be compiled ends the build here, not the start of a user.
  if (fileName.endsWith('.cjs')) new Script(text, { filename: file })
  mkdirSync(dirname(file), { recursive: true })
  writeFileSync(file, text)
}

/** A script has no `import()`: what loads it does that for it. */
function withImports(code) {
  const places = []
  const look = (node) => {
    if (node?.type === 'ImportExpression') places.push(node.start)
    for (const value of typeof node === 'object' && node !== null ? Object.values(node) : [])
      if (typeof value === 'object') look(value)
  }
  if (/\bimport\s*\(/.test(code)) look(parseAst(code))
  return places.reverse().reduce((text, at) => `${text.slice(0, at)}__${text.slice(at)}`, code)
}

/** A module that passes on what the script beside it exports by these names. */
function passedOn(name, exports) {
  const to = (file) => JSON.stringify(relative(dirname(name), file).replace(/^(?!\.)/, './'))
  const require = 'process.getBuiltinModule("node:module").createRequire(import.meta.url)'
  // What was written down as the program before it began with a script begins it still.
  if (name === program) return `#!/usr/bin/env node\n${require}("./bin.cjs");\n`
  const script = `${require}(${to('core/loader.cjs')}).load(import.meta.filename.replace(/js$/, "cjs"))`
  const body =
    exports.length === 0
      ? `${script};`
      : `const { ${exports.join(', ')} } = ${script};\nexport { ${exports.join(', ')} };`
  return `${body}\n`
}

/** What loads scripts is a file apart, which gives itself to those that it loads. */
const loader = {
  name: 'loader',
  resolveId: (id, importer) =>
    importer !== undefined && join(importer, '..', id) === here('../core/system/load.js')
      ? { id: '#load', external: true }
      : undefined,
}

/** What a screen needs for text that is not ASCII takes as long to make as all else of its first frame; it is made when such text comes. */
const late = {
  name: 'late',
  transform(code, id) {
    if (!id.endsWith('/@earendil-works/pi-tui/dist/utils.js')) return undefined
    return patched(
      code,
      'pi-tui',
      [
        'const segmenter = new Intl.Segmenter(undefined, { granularity: "grapheme" });',
        'let made;\nconst segmenter = { segment: (text) => (made ??= new Intl.Segmenter(undefined, { granularity: "grapheme" })).segment(text) };',
      ],
      [
        'const rgiEmojiRegex = /^\\p{RGI_Emoji}$/v;',
        'let emoji;\nconst rgiEmojiRegex = { test: (text) => (emoji ??= new RegExp("^\\\\p{RGI_Emoji}$", "v")).test(text) };',
      ],
    )
  },
}

/** What a plain install does not bring must not be asked for. */
function checkImports(output) {
  const { dependencies, optionalDependencies, peerDependencies } = JSON.parse(readFileSync('package.json', 'utf8'))
  // cosmiconfig would compile settings with TypeScript where there is one; ours never reach that.
  // A module that imports an optional peer reports that it is missing.
  const there = [...Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }), 'typescript']
  const ours = new Set(output.map(({ fileName }) => fileName))
  const wrong = output.flatMap(({ fileName, imports = [], dynamicImports = [] }) =>
    [...imports, ...dynamicImports]
      .filter(
        (name) =>
          !ours.has(name) &&
          !isBuiltin(name) &&
          name !== '#load' &&
          !name.startsWith('#vendor/') &&
          !there.some((one) => name === one || name.startsWith(`${one}/`)),
      )
      .map((name) => `${fileName} imports ${name}`),
  )
  if (wrong.length > 0) throw new Error(`Neither bundled nor a dependency:\n${wrong.join('\n')}`)
}

/** Makes each part of an SDK that serves one script: as modules, an SDK takes longer to start than Node itself. */
export async function bundleSdk() {
  const scripts = { http: 'mcp_http', stdio: 'mcp_stdio', acp: 'acp' }
  for (const [name, script] of Object.entries(scripts)) {
    const bundle = await rolldown({
      input: here(`sdk/${name}.mjs`),
      platform: 'node',
      plugins: [unused, often, guards],
      resolve: { alias: { '@modelcontextprotocol/server/_shims': here('sdk/shims.mjs') } },
    })
    const { output } = await bundle.generate({ format: 'cjs', minify: true })
    for (const folder of new Set(output.flatMap(({ moduleIds }) => moduleIds.flatMap((id) => folderOf(id) ?? []))))
      keepLicence(folder)
    writeProgram(`vendor/${script}.cjs`, `(function (exports, require) {${output[0].code}\n})`)
  }
  writeLicences(`${vendor}/LICENSES.txt`)
}

/** Lets the bundler leave out schemas: making one has no effect but itself, and the loops that list them all serve an API we do not use. */
const unused = {
  name: 'unused-schemas',
  transform(code, id) {
    if (!/@modelcontextprotocol\/(core|server)\//.test(id)) return undefined
    let text = ''
    let end = 0
    const replace = (node, by) => {
      text += code.slice(end, node.start) + by
      end = node.end
    }
    for (const statement of parseAst(code).body) {
      if (statement.type === 'ForOfStatement') replace(statement, '')
      for (const { init } of statement.type === 'VariableDeclaration' ? statement.declarations : []) {
        if (init?.type === 'CallExpression')
          replace(init, `/* @__PURE__ */ (() => ${code.slice(init.start, init.end)})()`)
      }
    }
    return text + code.slice(end)
  },
}

/** A patch of a library whose text is known; it says so when the library says something else. */
function patched(code, of, ...patches) {
  return patches.reduce((text, [before, after]) => {
    if (!text.includes(before)) throw new Error(`${of} does not say any more: ${before}`)
    return text.replace(before, () => after)
  }, code)
}

/** To compile a schema to code costs more than one connection begins with, and pays where it is asked often: so it is compiled then. */
const often = {
  name: 'compiled-when-used-often',
  transform(code, id) {
    if (!id.endsWith('/zod/v4/core/schemas.js')) return undefined
    return patched(
      code,
      'zod',
      ['const jit = !core.globalConfig.jitless;', 'const jit = true; let asked = 0;'],
      ['if (jit && fastEnabled && ctx?.async', 'if (fastEnabled && ++asked > 64 && ctx?.async'],
    )
  },
}

/** What a message is not shows by a member that it lacks: a schema that refuses it makes a report of errors first, which nobody reads. */
const guards = {
  name: 'guards-of-messages',
  transform(code, id) {
    if (!/@modelcontextprotocol\/server\//.test(id) || !code.includes('const isJSONRPCRequest =')) return undefined
    const guard = (kind, member) => [
      `const isJSONRPC${kind} = (value) => `,
      `const isJSONRPC${kind} = (value) => ${member} && `,
    ]
    return patched(
      code,
      'The MCP SDK',
      guard('Request', 'value?.id !== undefined'),
      guard('Notification', 'value?.method !== undefined'),
      guard('ResultResponse', 'value?.result !== undefined'),
      guard('ErrorResponse', 'value?.error !== undefined'),
    )
  },
}
