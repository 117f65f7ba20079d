import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { codes } from 'vtcode'
import { parse } from 'yaml'
import { knownCodes } from './support/codes.js'

// The rules of the house that a machine can hold. A red line here means: be deliberate, and change the rule in the same commit.
const root = fileURLToPath(new URL('..', import.meta.url))
const filesOf = (folder: string, end: string): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith(end))
    .map((name) => join(folder, name))
    .sort()
const text = (file: string): string => readFileSync(join(root, file), 'utf8')

const core = filesOf('core', '.ts')
const plugins = filesOf('plugins', '.ts')
const tests = filesOf('test', '.ts')
const manifests = filesOf('manifests', '.yaml')
const sources = [...core, ...plugins]

/** Returns the imports of a file: packages by name, our own files by their path from the root. */
function imports(file: string): string[] {
  const found = [
    ...text(file).matchAll(
      /^\s*(?:import|export)\s[^'"`;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm,
    ),
  ]
  return found.map((match) => {
    const name = match[1] ?? match[2] ?? match[3]!
    if (name.startsWith('.')) return normalize(join(dirname(file), name)).replace(/\.js$/, '.ts')
    return name.startsWith('node:')
      ? 'node:*'
      : name
          .split('/')
          .slice(0, name.startsWith('@') ? 2 : 1)
          .join('/')
  })
}
const breaking = (files: string[], allowed: (name: string, file: string) => boolean): string[] =>
  files.flatMap((file) =>
    imports(file)
      .filter((name) => !allowed(name, file))
      .map((name) => `${file} → ${name}`),
  )

/** `plugins/policy/permission.ts` and everything in `plugins/policy/permission/` are one plugin. */
const pluginOf = (file: string): string =>
  file
    .replace(/\.ts$/, '')
    .split('/')
    .slice(0, file.startsWith('plugins/dialect/') ? 4 : 3)
    .join('/')

/** The user named these eight. The other packages of a plain install are compiled for a machine. */
const card = {
  installed: ['@ast-grep/napi', 'gray-matter', 'node-pty', 'web-tree-sitter'],
  bundled: ['ajv', 'cosmiconfig', 'execa', 'tapable'],
}
/** The engine of scripts, which is a WebAssembly file. */
const wasm = ['@jitl/quickjs-wasmfile-release-sync', 'quickjs-emscripten-core']

describe('dependencies of a plain install', () => {
  it('installs only the listed packages, and runs no install script', () => {
    type Tree = Record<string, { dev?: boolean; hasInstallScript?: boolean }>
    const {
      dependencies = {},
      optionalDependencies = {},
      devDependencies = {},
    } = JSON.parse(text('package.json')) as Record<string, object>
    expect(Object.keys(dependencies)).toEqual([...card.installed, ...wasm, '@vscode/ripgrep'].sort())
    expect(card.bundled.filter((name) => !(name in devDependencies))).toEqual([])
    expect(Object.keys(optionalDependencies).filter((name) => !name.startsWith('@ast-grep/cli-'))).toEqual([])
    const { packages } = JSON.parse(text('package-lock.json')) as { packages: Tree }
    expect(
      Object.keys(packages).filter((path) => path !== '' && !packages[path]!.dev && packages[path]!.hasInstallScript),
    ).toEqual([])
  })
})

describe('bundled packages', () => {
  it('bundles no package that is installed, and the others of the card', () => {
    const bundled = [...text('dist/vendor/LICENSES.txt').matchAll(/^(\S+) \d\S* \([^)]+\)$/gm)].map(([, name]) => name!)
    expect(card.bundled.filter((name) => !bundled.includes(name))).toEqual([])
    const { dependencies } = JSON.parse(text('package.json')) as { dependencies: object }
    expect(bundled.filter((name) => name in dependencies)).toEqual([])
  })
})

describe('imports of tests', () => {
  it('keeps imports of plugins out of tests, so that a replaced plugin keeps its tests', () => {
    // Rooms are tested at their doors, everything else through the program.
    const inside = (name: string): boolean => /^(build|dist|core|plugins)\//.test(name)
    const door = /^build\/(?:(?:core|plugins\/lib|plugins\/agent)\/[a-z_]+|plugins\/tui(?:\/text)?)\/index\.ts$/
    const allowed = (name: string, file: string): boolean =>
      !inside(name) || (file.startsWith('test/kit') && name === 'core/index.ts') || door.test(name)
    expect(
      breaking(
        tests.filter((file) => !file.startsWith('test/bench/')),
        allowed,
      ),
    ).toEqual([])
  })
})

describe('.ci', () => {
  it('holds only files that .ci/run runs', () => {
    const files = readdirSync(join(root, '.ci'))
    const scripts = files.filter((name) => !name.endsWith('.d.mts') && name !== 'run')
    expect(scripts.filter((name) => !text('.ci/run').includes(`.ci/${name}`))).toEqual([])
  })
  it('keeps types and modules of .ci and scripts out of the program', () => {
    const foreign = /['"`](?:\.{1,2}\/)+(?:\.ci|scripts)\//
    expect([...sources, 'tsconfig.json'].filter((file) => foreign.test(text(file)))).toEqual([])
  })
})

describe('names', () => {
  it('names sources and manifests in snake_case', () => {
    const wrong = [...sources, ...manifests].filter(
      (file) => !/^[a-z0-9_]+(\/[a-z0-9_]+)+(\.d)?\.(ts|yaml)$/.test(file),
    )
    expect(wrong).toEqual([])
  })
  it('refuses empty words in names, such as Manager or Helper', () => {
    const empty = /\b\w*(Manager|Service|Helper|Util|Utils)\b|\b(utils|helpers|opts|ctx2)\b/
    expect(
      sources.flatMap((file) =>
        text(file)
          .split('\n')
          .filter((line) => empty.test(line))
          .map((line) => `${file}: ${line.trim()}`),
      ),
    ).toEqual([])
  })
})

/** Files by a glob with `**` and `*`, so that a rule outlives the move of a folder. */
function globbed(...globs: string[]): string[] {
  const pattern = globs
    .map((glob) =>
      glob.replace(/[.]/g, '\\.').replaceAll('**', '\u0000').replaceAll('*', '[^/]*').replaceAll('\u0000', '.*'),
    )
    .join('|')
  return sources.filter((file) => new RegExp(`^(?:${pattern})$`).test(file))
}

describe('time limits', () => {
  it("refuses AbortSignal's own timeout in sources and tests, which can be collected before it fires", () => {
    const word = ['AbortSignal', 'timeout'].join('.')
    expect([...sources, ...tests].filter((file) => text(file).includes(word))).toEqual([])
  })
})

describe('calls of an agent', () => {
  it('makes calls of an agent only in Thread.perform, and lets one component reach the kernel', () => {
    const agent = globbed(
      'plugins/agent/**',
      'plugins/surface/chat/**',
      ...['ask', 'chat', 'exec', 'resume'].map((verb) => `plugins/surface/${verb}.ts`),
    )
    const where = (form: RegExp): string[] => agent.filter((file) => form.test(text(file)))
    // A decision about a plan has the same name.
    expect(where(/\bexecute\b(?!:|' \|)|\.execute\b/)).toEqual(['plugins/agent/thread.ts'])
    // Calls that a person makes by hand, and the merge of a run on another machine, are no calls of an agent.
    expect(where(/\.call\(|\bcall\b[^()\n]*\}\s*=\s*(?:this\.)?(?:thread\.)?kernel\b/)).toEqual([
      'plugins/agent/components/builtin.ts',
      'plugins/agent/remote/collect.ts',
      'plugins/surface/chat/call_as_user.ts',
    ])
    // The component that executes the calls of an agent in an editor reads its buffers first.
    const byEditor = globbed('plugins/surface/acp/**').filter((file) => /\bkernel\.call\(/.test(text(file)))
    expect(byEditor).toEqual(['plugins/surface/acp/buffers.ts'])
    const thread = text('plugins/agent/thread.ts')
    expect([...thread.matchAll(/execute\.run\(/g)]).toHaveLength(1)
    expect(/async perform\([^]*?\n {2}\}/.exec(thread)?.[0]).toMatch(
      /\bmode\b[^]*\bonly\b[^]*\baudiences\b[^]*execute\.run\(\s*name,\s*input,\s*\{[^}]*\.\.\.rights\b/,
    )
    // A list of tools for the agent is limited to its rights.
    expect(where(/kernel\.tools\((?!\{\s*\.\.\.how,\s*audience: 'agent')/)).toEqual([])
  })
})

describe('names of tools', () => {
  const actions = manifests.flatMap((file) => {
    const {
      kind = 'action',
      action,
      name,
      aliases = [],
      dialect = [],
    } = parse(text(file)) as Record<string, string> & { aliases?: string[]; dialect?: string | string[] }
    return kind === 'action' ? [{ slot: action ?? name!, aliases, dialects: [dialect].flat() }] : []
  })
  // Former names that are plain words say nothing; the library of the engine has the name that a dialect has for its tool.
  const tools = new Set(
    actions
      .flatMap(({ slot, aliases }) => [slot.split('/')[0]!, ...aliases])
      .filter((name) => name.includes('_') && name !== 'ast_grep'),
  )
  // Actions without a dialect belong to the kernel's own vocabulary, which needs a name for the setting.
  const dialects = new Set(actions.flatMap((one) => one.dialects).filter((name) => name !== 'unified'))
  /** Returns slots or tools that a file names, except in hints, which are templates. */
  const namedIn = (file: string, names: Iterable<string>): string[] => {
    const said = text(file)
      .replace(/^import .*$/gm, '')
      .replace(/\bimport\('.*?'\)/g, '')
      .replace(/\{(?:slot|tool):[\w/]+/g, '')
    return [
      ...new Set(
        [...said.matchAll(new RegExp(`(?<![\\w./-])(?:${[...names].join('|')})(?:/[a-z_]+)?(?![\\w-])`, 'g'))].map(
          ([name]) => name,
        ),
      ),
    ].sort()
  }

  it('keeps names of tools and dialects out of the kernel', () => {
    // The key of a package made for another program, which has the name of a dialect.
    const foreign: Record<string, string[]> = { 'locations.ts': ['omp'] }
    // Generated files repeat the words of manifests and schemas.
    const written = globbed('core/**').filter((file) => !text(file).startsWith('// Generated from '))
    const found = written.map(
      (file) =>
        [
          file,
          namedIn(file, [...tools, ...dialects]).filter((name) => !foreign[basename(file)]?.includes(name)),
        ] as const,
    )
    expect(found.filter(([, names]) => names.length > 0)).toEqual([])
  })
  it('uses slot ids of tools in the agent and the libraries only in listed tables', () => {
    // By the end of a file's path: rule names, hook words, sources of deduplication, next steps, and words of others that are no tools.
    const tables: Record<string, string[]> = {
      'context/dedupe.ts': ['unified_exec/run', 'unified_file/read'],
      // What runs the commands of a verification.
      'task/verification.ts': ['unified_exec/run'],
      // The tool that is there in one mode only.
      // The tools that stay with the conversation that has a person, and those of an agent.
      'delegation/rights.ts': ['propose_plan', 'report_result', 'request_user_input'],
      // The reading tools of a planner, and of an evaluator.
      'finish/planned_task.ts': ['unified_search/outline'],
      'finish/work_diff.ts': ['unified_file/read'],
      'loop/changes.ts': ['unified_file/move'],
      // The slots whose schemas the services of a conversation check.
      // The words for what calls do, and the slots whose changes are planned.
      'intents/format_action.ts': [
        'apply_patch',
        'defuddle_fetch',
        'unified_exec/code',
        'unified_exec/run',
        'unified_file/copy',
        'unified_file/delete',
        'unified_file/edit',
        'unified_file/move',
        'unified_file/patch',
        'unified_file/read',
        'unified_file/write',
        'unified_search/grep',
        'unified_search/list',
        'unified_search/outline',
        'unified_search/web',
        'web_search',
      ],
      'intents/intended_change.ts': ['apply_patch', 'unified_file/edit', 'unified_file/patch', 'unified_file/write'],
      'intents/describe_intent.ts': ['unified_exec/run', 'unified_file/delete'],
      'agent/services.ts': [
        'propose_plan',
        'report_result',
        'task_tracker/add',
        'task_tracker/create',
        'task_tracker/list',
        'task_tracker/update',
      ],
      // The kind of an event.
      'loop/report.ts': ['web_search'],
      'agent/base/types.ts': ['web_search'],
      'model/outgoing.ts': ['apply_patch'],
      // The slot to which an unreported change is attributed.
      'snapshots/file_snapshots.ts': ['unified_exec/run'],
      'hooks/hook_calls.ts': [
        ...[
          'apply_patch',
          'defuddle_fetch',
          'load_skill',
          'web_search',
          'unified_exec/run',
          'unified_search/grep',
          'unified_search/list',
          'unified_search/skill',
          'unified_search/web',
        ],
        ...['copy', 'delete', 'edit', 'move', 'patch', 'read', 'write'].map((action) => `unified_file/${action}`),
        // Names of another program.
        ...['read_file', 'web_fetch', 'write_file'],
      ],
      'base/next_call.ts': [
        'list_skills',
        'load_skill',
        'unified_exec/inspect',
        'unified_exec/list',
        'unified_exec/poll',
        'unified_file/read',
        'unified_search/grep',
        'unified_search/list',
        'unified_search/outline',
      ],
      // The words with which models begin a here-document.
      'patch/parse.ts': ['apply_patch'],
      'rules/commands.ts': ['unified_exec/run'],
    }
    const table = (file: string) => Object.entries(tables).find(([end]) => file.endsWith(`/${end}`))?.[1] ?? []
    const all = globbed('plugins/lib/**', 'plugins/agent/**').map((file) => [file, namedIn(file, tools)] as const)
    expect(all.filter(([file, names]) => names.join() !== [...table(file)].sort().join())).toEqual([])
  })
})

describe('manifest, module and test', () => {
  const data = manifests.map((file) => ({ file, manifest: parse(text(file)) as Record<string, unknown> }))
  // An alias may name a module for what its data cannot say.
  const named = ({ module, alias }: Record<string, unknown>): unknown =>
    module ?? (alias as Record<string, unknown> | undefined)?.['module']
  const withModule = data.filter(({ manifest }) => named(manifest) !== undefined)

  it('places a module at the path of its manifest', () => {
    const moduleOf = (file: string, module: unknown): string =>
      normalize(join(dirname(file), String(module))).replace(/\.js$/, '.ts')
    for (const { file, manifest } of withModule) {
      const source = moduleOf(file, named(manifest))
      expect(plugins, `${file} names ${source}`).toContain(source)
      expect(pluginOf(source), file).toBe(file.replace('manifests/', 'plugins/').replace(/\.yaml$/, ''))
    }
  })
  it('requires a manifest for each plugin', () => {
    const known = new Set(withModule.map(({ file }) => file.replace('manifests/', 'plugins/').replace(/\.yaml$/, '')))
    // A folder of a family without a manifest is a room of it.
    const isRoom = (file: string): boolean =>
      /^plugins\/(lib|agent|tui|unified_exec\/(session|checkpoint|output|processes|isolate)|unified_file\/pdf|adapter\/mcp_(tools|transport))\/|^plugins\/(web_search\/engine)\.ts$/.test(
        file,
      )
    expect(
      [...new Set(plugins.filter((file) => !isRoom(file)).map(pluginOf))].filter((plugin) => !known.has(plugin)),
    ).toEqual([])
  })
  it('requires a test of its name for each plugin', () => {
    const tested = tests.map((file) => file.replace(/^test\//, '').replace(/\.test\.ts$/, ''))
    // A dialect is data, and so are our providers and language servers: these are tested together.
    const together = (plugin: string): string =>
      /^plugins\/(?:provider|language_server)\//.test(plugin)
        ? plugin.split('/').slice(0, 2).join('/')
        : plugin.startsWith('plugins/dialect/')
          ? plugin.split('/').slice(0, 3).join('/')
          : plugin
    const untested = data
      .map(({ file }) => together(file.replace('manifests/', 'plugins/').replace(/\.yaml$/, '')))
      .filter((plugin) => !tested.includes(plugin))
    expect(untested).toEqual([])
  })
  it('marks other tools in descriptions by their slots', () => {
    const slots = data.map(({ manifest }) => String(manifest['action'] ?? ''))
    const strange = ({ manifest }: (typeof data)[number]) =>
      [...String(manifest['description']).matchAll(/\{[^}]*\}/g)].some(
        ([mark]) => !slots.includes(/^\{slot:(\w+\/\w+)\}$/.exec(mark)?.[1] ?? '-'),
      )
    expect(
      data
        .filter((one) => /\{(?:slot|tool):/.test(String(one.manifest['description'])) && strange(one))
        .map(({ file }) => file),
    ).toEqual([])
  })
  it('gives each manifest the id of its file', () => {
    const wrong = data.filter(({ file, manifest }) => {
      const place = relative('manifests', file).replace(/\.yaml$/, '')
      const name = place.split('/').at(-1)!
      return manifest.name !== name && manifest.action !== place && manifest.action !== name && manifest.verb !== name
    })
    expect(wrong.map(({ file }) => file)).toEqual([])
  })
})

describe('files', () => {
  it('limits lines of sources to 220 characters', () => {
    const wide = sources.flatMap((file) =>
      text(file)
        .split('\n')
        .map((line, index) => ({ line, at: `${file}:${index + 1}` })),
    )
    expect(wide.filter(({ line }) => line.length > 220).map(({ at }) => at)).toEqual([])
  })
  it('refuses marks of unfinished work in sources', () => {
    const marks = /(\/\/|\*).*\b(TODO|FIXME|XXX|HACK)\b|\.only\(|\bdebugger\b|@ts-ignore|eslint-disable/
    const found = sources.flatMap((file) =>
      text(file)
        .split('\n')
        .filter((line) => marks.test(line))
        .map((line) => `${file}: ${line.trim()}`),
    )
    expect(found).toEqual([])
  })
})

describe('error codes', () => {
  const inCode = (file: string): string[] => [...text(file).matchAll(/'(VT_[A-Z_]*[A-Z])'/g)].map((match) => match[1]!)
  const known = new Set(knownCodes())
  // Notices of a success; they have no hint and are in no table of errors.
  const notices =
    /^VT_(SEARCH_(PARTIAL|INCOMPLETE|SKIPPED|FALLBACK|LANG_SKIPPED|PARSE|LEFT_OUT|LITERAL|NO_FILES)|OUTLINE_UNSUPPORTED|FILE_(HARDLINK|EOL_CHANGED|UNSAVED)|EDIT_LARGE|PATCH_FUZZY|INPUT_IGNORED|POLICY_CAPPED|HOOK_(FAILED|CONTEXT|IGNORED|BLOCKED)|EXEC_(CHILDREN_ENDED|SURVIVORS|INPUT|RESULT|UNSETTLED|PUT_ASIDE|NEW_REPOSITORY|REPOSITORY_KEPT|SEARCH_LIMIT|SANDBOXED|CHANGED|UNCOVERED)|DIAGNOSTICS_(NEW|LATE|FAILED|PARTIAL)|PLACES_OUTSIDE|SESSION_OTHERS|SKILL_(UNTRUSTED|LEFT_OUT|COMMAND_NOT_RUN|ONE_CALL))$/

  it("lists every code used in the sources in the kernel's table or in a manifest", () => {
    expect(
      sources.flatMap((file) =>
        inCode(file)
          .filter((code) => !known.has(code) && !notices.test(code))
          .map((code) => `${file}: ${code}`),
      ),
    ).toEqual([])
  })
  it("uses every code of the kernel's table in the sources", () => {
    const used = new Set(sources.filter((file) => file !== 'core/shapes/errors.ts').flatMap(inCode))
    expect(Object.keys(codes).filter((code) => !used.has(code))).toEqual([])
  })
  // The end of a whole run checks that a test provokes each code: test/support/codes.ts.
  const documented = new Set([...text('docs/errors.md').matchAll(/`(VT_[A-Z_]+)`/g)].map((match) => match[1]!))
  it('documents every code, and no other one', () => {
    expect([...known].filter((code) => !documented.has(code))).toEqual([])
    expect([...documented].filter((code) => !known.has(code))).toEqual([])
  })
})
