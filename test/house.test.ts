import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, it } from 'vitest'
import { codes } from 'vtcode'
import { parse } from 'yaml'

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

/** What a file imports: packages by name, our own files by their path from the root. */
function imports(file: string): string[] {
  const found = [...text(file).matchAll(/^\s*(?:import|export)\s[^'"`;]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm)]
  return found.map((match) => {
    const name = match[1] ?? match[2] ?? match[3]!
    if (name.startsWith('.')) return normalize(join(dirname(file), name)).replace(/\.js$/, '.ts')
    return name.startsWith('node:') ? 'node:*' : name.split('/').slice(0, name.startsWith('@') ? 2 : 1).join('/')
  })
}
const breaking = (files: string[], allowed: (name: string, file: string) => boolean): string[] =>
  files.flatMap((file) => imports(file).filter((name) => !allowed(name, file)).map((name) => `${file} → ${name}`))

const coreLibraries = ['node:*', 'tapable', 'cosmiconfig', 'ajv', 'ajv-formats', 'semver', 'gray-matter', 'yaml', 'jiti', 're2js']
const { dependencies, optionalDependencies } = JSON.parse(text('package.json')) as Record<string, Record<string, string>>
const libraries = ['node:*', ...Object.keys({ ...dependencies, ...optionalDependencies })]

/** `plugins/policy/permission.ts` and everything in `plugins/policy/permission/` are one plugin. */
const pluginOf = (file: string): string => file.replace(/\.ts$/, '').split('/').slice(0, file.startsWith('plugins/dialect/') ? 4 : 3).join('/')

describe('imports', () => {
  it('of the kernel are libraries of its own and itself', () => {
    expect(breaking(core, (name) => coreLibraries.includes(name) || core.includes(name))).toEqual([])
  })
  it('of a plugin are the front door, shared parts, its own files and libraries', () => {
    const own = plugins.filter((file) => !file.startsWith('plugins/shared/'))
    const allowed = (name: string, file: string): boolean =>
      name === 'core/index.ts' || name.startsWith('plugins/shared/') || pluginOf(name) === pluginOf(file) || libraries.includes(name)
    expect(breaking(own, allowed)).toEqual([])
  })
  it('of a shared part are the front door, other shared parts and libraries', () => {
    const shared = plugins.filter((file) => file.startsWith('plugins/shared/'))
    const allowed = (name: string): boolean => name === 'core/index.ts' || name.startsWith('plugins/shared/') || libraries.includes(name)
    expect(breaking(shared, allowed)).toEqual([])
  })
  it('of what starts programs stand in one place', () => {
    const starts = sources.filter((file) => /^import (?!type).*'node:child_process'/m.test(text(file)))
    expect(starts).toEqual(['core/programs.ts'])
  })
  it('never say where a file of the program lies: the build joins modules', () => {
    const places = /(?:new URL|dirname|fileURLToPath)\([^\n]*import\.meta/
    expect(sources.filter((file) => places.test(text(file)))).toEqual(['core/names.ts', 'core/program.ts'])
  })
  it('of a test never reach a plugin: a swap keeps its tests', () => {
    const inside = (name: string): boolean => /^(dist|core|plugins)\//.test(name)
    const allowed = (name: string, file: string): boolean =>
      !inside(name) || (file.startsWith('test/kit') && name === 'core/index.ts') || (file.startsWith('test/core/') && name.startsWith('dist/core/'))
    expect(breaking(tests.filter((file) => !file.startsWith('test/bench/')), allowed)).toEqual([])
  })
  it('never run in a circle, types left aside', () => {
    const runtime = new Map(sources.map((file) => [file, runtimeImports(file)]))
    expect(sources.filter((file) => reaches(file, file, runtime, new Set()))).toEqual([])
  })
})

function runtimeImports(file: string): string[] {
  const lines = text(file).split('\n').filter((line) => !/^\s*(import|export) type\b/.test(line)).join('\n')
  return [...lines.matchAll(/^(?:import|export)\s[^'"`;]*?from\s+'(\.[^']+)'/gm)].map((match) => normalize(join(dirname(file), match[1]!)).replace(/\.js$/, '.ts'))
}
function reaches(from: string, goal: string, graph: Map<string, string[]>, seen: Set<string>): boolean {
  return (graph.get(from) ?? []).some((next) => next === goal || (!seen.has(next) && seen.add(next) && reaches(next, goal, graph, seen)))
}

describe('names', () => {
  it('of all core files stand in the map of core/README.md, and no others', () => {
    const map = /## The files\n([\s\S]*?)\n## /.exec(text('core/README.md'))![1]!
    const named = [...map.matchAll(/^\|(.*)\|$/gm)].flatMap(([row]) => [...row!.matchAll(/`([a-z]+)`/g)].map((match) => `core/${match[1]}.ts`))
    expect([...new Set(named)].sort()).toEqual(core)
  })
  it('of core files are one word', () => {
    expect(core.filter((file) => !/^core\/[a-z]+\.ts$/.test(file))).toEqual([])
  })
  it('of plugins and manifests are in snake_case', () => {
    const wrong = [...plugins, ...manifests].filter((file) => !/^[a-z0-9_]+(\/[a-z0-9_]+)+\.(ts|yaml)$/.test(file))
    expect(wrong).toEqual([])
  })
  it('hold no word that says nothing', () => {
    const empty = /\b\w*(Manager|Service|Helper|Util|Utils)\b|\b(utils|helpers|opts|ctx2)\b/
    expect(sources.flatMap((file) => text(file).split('\n').filter((line) => empty.test(line)).map((line) => `${file}: ${line.trim()}`))).toEqual([])
  })
})

describe('manifest, module and test', () => {
  const data = manifests.map((file) => ({ file, manifest: parse(text(file)) as Record<string, unknown> }))
  // An alias may name a module for what its data cannot say.
  const named = ({ module, alias }: Record<string, unknown>): unknown => module ?? (alias as Record<string, unknown> | undefined)?.['module']
  const withModule = data.filter(({ manifest }) => named(manifest) !== undefined)

  it('share their name and place', () => {
    const moduleOf = (file: string, module: unknown): string => normalize(join(dirname(file), String(module))).replace(/\.js$/, '.ts')
    for (const { file, manifest } of withModule) {
      const source = moduleOf(file, named(manifest))
      expect(plugins, `${file} names ${source}`).toContain(source)
      expect(pluginOf(source), file).toBe(file.replace('manifests/', 'plugins/').replace(/\.yaml$/, ''))
    }
  })
  it('are all there: no plugin without a manifest', () => {
    const known = new Set(withModule.map(({ file }) => file.replace('manifests/', 'plugins/').replace(/\.yaml$/, '')))
    expect([...new Set(plugins.filter((file) => !file.startsWith('plugins/shared/')).map(pluginOf))].filter((plugin) => !known.has(plugin))).toEqual([])
  })
  it('are all there: no plugin without a test of its name', () => {
    const tested = tests.map((file) => file.replace(/^test\//, '').replace(/\.test\.ts$/, ''))
    // A dialect is data, and so are our providers: what they hold is tested together.
    const together = (plugin: string): string => (plugin.startsWith('plugins/provider/') ? 'plugins/provider' : plugin.startsWith('plugins/dialect/') ? plugin.split('/').slice(0, 3).join('/') : plugin)
    const untested = data.map(({ file }) => together(file.replace('manifests/', 'plugins/').replace(/\.yaml$/, ''))).filter((plugin) => !tested.includes(plugin) && !owed.includes(plugin))
    expect(untested).toEqual([])
  })
  it('carry the id that their file has', () => {
    const wrong = data.filter(({ file, manifest }) => {
      const place = relative('manifests', file).replace(/\.yaml$/, '')
      const name = place.split('/').at(-1)!
      return manifest.name !== name && manifest.action !== place && manifest.action !== name && manifest.verb !== name
    })
    expect(wrong.map(({ file }) => file)).toEqual([])
  })
})

describe('files', () => {
  it('are short: one idea each', () => {
    // types.ts is a list of shapes and no code; what is generated is read in its source.
    const long = sources.filter((file) => file !== 'core/types.ts' && !text(file).startsWith('// Generated from ') && text(file).split('\n').length > 300)
    expect(long).toEqual([])
  })
  it('have lines that fit a screen', () => {
    const wide = sources.flatMap((file) => text(file).split('\n').map((line, index) => ({ line, at: `${file}:${index + 1}` })))
    expect(wide.filter(({ line }) => line.length > 220).map(({ at }) => at)).toEqual([])
  })
  it('hold no marks of unfinished work', () => {
    const marks = /(\/\/|\*).*\b(TODO|FIXME|XXX|HACK)\b|\.only\(|\bdebugger\b|@ts-ignore|eslint-disable/
    const found = sources.flatMap((file) => text(file).split('\n').filter((line) => marks.test(line)).map((line) => `${file}: ${line.trim()}`))
    expect(found).toEqual([])
  })
})

describe('error codes', () => {
  const inCode = (file: string): string[] => [...text(file).matchAll(/'(VT_[A-Z_]*[A-Z])'/g)].map((match) => match[1]!)
  const declared = manifests.flatMap((file) => Object.keys((parse(text(file)) as { errors?: object }).errors ?? {}))
  const known = new Set([...Object.keys(codes), ...declared])
  // Remarks beside a result; they have no hint and stand in no table of errors.
  const notices = /^VT_(SEARCH_(PARTIAL|INCOMPLETE|SKIPPED|FALLBACK|LANG_SKIPPED|PARSE)|OUTLINE_UNSUPPORTED|FILE_(HARDLINK|EOL_CHANGED)|EDIT_LARGE|PATCH_FUZZY|INPUT_IGNORED|POLICY_CAPPED|HOOK_(FAILED|CONTEXT|IGNORED|BLOCKED)|EXEC_(CHILDREN_ENDED|SURVIVORS)|SKILL_(UNTRUSTED|LEFT_OUT|COMMAND_NOT_RUN))$/

  it('used in the sources are in the table of the kernel or in a manifest', () => {
    expect(sources.flatMap((file) => inCode(file).filter((code) => !known.has(code) && !notices.test(code)).map((code) => `${file}: ${code}`))).toEqual([])
  })
  it('of the kernel are used in the sources: a code nobody raises is a promise nobody keeps', () => {
    const used = new Set(sources.filter((file) => file !== 'core/errors.ts').flatMap(inCode))
    expect(Object.keys(codes).filter((code) => !used.has(code))).toEqual([])
  })
  it('are each provoked by a test', () => {
    const provoked = tests.filter((file) => file !== 'test/house.test.ts').map(text).join('\n')
    expect([...known].filter((code) => !provoked.includes(code) && !owed.includes(code))).toEqual([])
  })
  const documented = new Set([...text('core/README.md').matchAll(/`(VT_[A-Z_]+)`/g)].map((match) => match[1]!))
  it('are in the documented table, and nothing else is', () => {
    expect([...known].filter((code) => !documented.has(code))).toEqual([])
    expect([...documented].filter((code) => !known.has(code))).toEqual([])
  })
})

// Codes and plugins without a test of their own. The list may only get shorter.
const owed = [
  'VT_POLICY_UNAVAILABLE', 'VT_FILE_IO', 'VT_SLOT_PROPERTY_CONFLICT', 'VT_SCHEMA_PATTERN',
  'VT_CONFIG_INVALID', 'VT_CONFIG_AMBIGUOUS', 'VT_CONFIG_UNTRUSTED', 'VT_CONFIG_LOOSENS', 'VT_CONFIG_OWN_ONLY', 'VT_CONFIG_CONSENT',
  'VT_TRUST_STORE', 'VT_TRUST_REFUSED',
  'plugins/surface/config', 'plugins/surface/docs', 'plugins/surface/doctor', 'plugins/surface/help', 'plugins/surface/plugins', 'plugins/surface/tools',
  'plugins/surface/tour', 'plugins/surface/trust',
]
