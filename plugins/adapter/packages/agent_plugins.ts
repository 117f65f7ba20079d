import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { definedOnly } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { JsonObject, PackageSkills } from '../../../core/index.js'
import { validateSkill } from '../../lib/skills/index.js'
import { fill, isObject } from './objects.js'
import type { Package } from './package.js'

const most = 500
const schemaOf = (name: string): string => `https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`
const nameRule = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const known = [
  '$schema',
  'name',
  'version',
  'description',
  'author',
  'homepage',
  'repository',
  'license',
  'keywords',
  'extensions',
]
const fieldsOf: Record<string, string[]> = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  'streamable-http': ['type', 'url', 'headers'],
  sse: ['type', 'url', 'headers'],
}

/** False when the manifest breaks the format: then nothing of the package is used. */
export function readAgentPlugin(found: Package, manifest: JsonObject): boolean {
  const file = `${found.place.root}/plugin.json`
  const wrong = faultOf(manifest)
  if (wrong !== undefined) {
    found.invalid(`${file}: ${wrong}.`, file)
    return false
  }
  const strange = Object.keys(manifest).filter((key) => !known.includes(key))
  if (strange.length > 0) found.unsupported({ [`Unknown keys (${strange.join(', ')})`]: strange.length }, file)
  if (manifest['extensions'] !== undefined && !isObject(manifest['extensions']))
    found.invalid(`${file}: 'extensions' is no object and is ignored.`, file)
  for (const marker of ['vtcode.yaml', 'vtcode.yml', 'vtcode.json', 'vtcode']) {
    if (existsSync(join(found.place.root, marker)))
      found.invalid(
        `${join(found.place.root, marker)} is not read beside an Agent Plugins manifest; it belongs into dev.vtcode/.`,
        file,
      )
  }
  readServers(found)
  readOwnPart(found, isObject(manifest['extensions']) ? manifest['extensions']['dev.vtcode'] : undefined, file)
  found.skills = () => childSkills(found)
  return true
}

/** The manifests for this program, in `dev.vtcode/`, and what `extensions` says of them. */
function readOwnPart(found: Package, raw: unknown, file: string): void {
  const { vtcode, options = {} } = isObject(raw) ? raw : {}
  if (
    raw !== undefined &&
    (!isObject(raw) ||
      (vtcode !== undefined && typeof vtcode !== 'string') ||
      !isObject(options) ||
      !Object.values(options).every(isObject))
  ) {
    return found.invalid(
      `${file}: 'extensions.dev.vtcode' holds a range \`vtcode\` and \`options\` by the names of contributions; as it is not, the folder dev.vtcode is left out.`,
      file,
    )
  }
  const folder = found.folder('dev.vtcode')
  if (folder)
    found.native = {
      folder,
      options: options as Record<string, JsonObject>,
      ...(vtcode !== undefined && { vtcode: vtcode as string }),
    }
}

/** The immediate children of `skills` that hold exactly a `SKILL.md`, and keep to the open format; a key it does not know is no fault. */
function childSkills(found: Package): PackageSkills {
  const before = found.diagnostics.length
  const root = found.folder('skills')
  const names = root ? readdirSync(root).sort() : []
  if (names.length > most)
    found.invalid(`${root} holds ${names.length} folders; the first ${most} are looked into.`, root!)
  const folders = names.slice(0, most).flatMap((name) => {
    const folder = join(root!, name)
    const file = join(folder, 'SKILL.md')
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() || !readdirSync(folder).includes('SKILL.md'))
      return []
    if (found.leads(`skills/${name}/SKILL.md`) === undefined || found.bytes(file, 1_048_576) === undefined) return []
    const [wrong] = validateSkill(folder).complaints.filter(({ message }) => !message.startsWith('Unexpected fields'))
    if (!wrong) return [realpathSync(folder)]
    found.invalid(
      `${file}: the skill is left out: ${wrong.message}.`,
      `${file}${wrong.line === undefined ? '' : `:${wrong.line}`}`,
    )
    return []
  })
  return { folders, texts: [], diagnostics: found.diagnostics.splice(before) }
}

function faultOf({ $schema, name, author, ...facts }: JsonObject): string | undefined {
  if ($schema !== schemaOf('plugin'))
    return `'$schema' is ${JSON.stringify($schema)}; only ${schemaOf('plugin')} is read`
  if (typeof name !== 'string' || !nameRule.test(name))
    return `'name' is ${JSON.stringify(name)}; lower-case letters, digits, single . and - are allowed`
  const text = ['version', 'description', 'homepage', 'repository', 'license'].find(
    (key) => facts[key] !== undefined && typeof facts[key] !== 'string',
  )
  if (text !== undefined) return `'${text}' is no text`
  const { keywords } = facts
  if (keywords !== undefined && !(Array.isArray(keywords) && keywords.every((word) => typeof word === 'string')))
    return "'keywords' is no list of texts"
  if (author === undefined) return undefined
  if (!isObject(author) || typeof author['name'] !== 'string') return "'author' has no name"
  const odd = Object.entries(author).find(
    ([key, value]) => !['name', 'email', 'url'].includes(key) || typeof value !== 'string',
  )
  return odd && `'author' holds '${odd[0]}', which is not allowed`
}

function readServers(found: Package): void {
  const file = `${found.place.root}/mcp.json`
  const document = found.read('mcp.json')
  if (!document) return
  const { $schema, mcpServers, ...others } = document
  if ($schema !== schemaOf('mcp') || !isObject(mcpServers) || Object.keys(others).length > 0) {
    return found.invalid(`${file} does not keep to its schema; no server of it is used.`, file)
  }
  const variables = { PLUGIN_ROOT: found.place.root, PLUGIN_DATA: found.place.data }
  for (const [name, raw] of Object.entries(mcpServers)) {
    const wrong = isObject(raw) ? faultOfServer(raw, found) : 'it is no object'
    if (wrong !== undefined) found.invalid(`${file}: the server ${name} is left out: ${wrong}.`, file)
    else {
      const { args, env, cwd, ...rest } = raw as JsonObject
      found.addManifest(
        name,
        { mcp: { server: { ...rest, ...fill({ ...definedOnly({ args, env, cwd }) } as JsonObject, variables) } } },
        file,
      )
    }
  }
}

function faultOfServer(server: JsonObject, found: Package): string | undefined {
  const fields = fieldsOf[toText(server['type'])]
  if (!fields) return `its type is ${JSON.stringify(server['type'])}`
  const odd = Object.keys(server).find((key) => !fields.includes(key))
  if (odd !== undefined) return `'${odd}' does not belong to a server of type ${toText(server['type'])}`
  return server['type'] === 'stdio' ? faultOfProgram(server, found) : faultOfAddress(server)
}

const texts = (value: unknown): boolean =>
  value === undefined || (isObject(value) && Object.values(value).every((text) => typeof text === 'string'))

function faultOfAddress({ url, headers }: JsonObject): string | undefined {
  if (typeof url !== 'string' || !texts(headers)) return 'its URL or headers are no texts'
  if (!URL.canParse(url)) return 'its URL is not absolute'
  const { protocol, hostname, username, password } = new URL(url)
  if (username || password || url.includes('#')) return 'its URL holds a user name, a password or a fragment'
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && local)) return 'its URL is not https, and not of this machine'
  const declared = Object.entries((headers ?? {}) as Record<string, string>)
  const names = declared.map(([name]) => name.toLowerCase())
  if (new Set(names).size < names.length) return 'a header stands there twice'
  return declared.some(([name, text]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text))
    ? 'a header is not a valid HTTP header'
    : undefined
}

function faultOfProgram({ command, args, env, cwd }: JsonObject, found: Package): string | undefined {
  if (typeof command !== 'string' || !isCommand.test(command) || command.includes('${')) {
    return `its command ${JSON.stringify(command)} is no single word or ./path`
  }
  if (command.startsWith('./') && !found.holds(command)) return 'its command leads out of the package'
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === 'string'))) {
    return "'args' is no list of texts"
  }
  if (
    !texts(env) ||
    Object.keys((env ?? {}) as object).some((name) => name === 'PLUGIN_ROOT' || name === 'PLUGIN_DATA')
  )
    return "'env' is not texts, or sets what the program sets"
  return cwd === undefined ? undefined : faultOfFolder(cwd, found)
}

/** A path below the package, or a word: a word with blanks would be a command line. */
const isCommand = /^(?:\.\/.*|[^\s/\\]+)$/s

function faultOfFolder(cwd: unknown, found: Package): string | undefined {
  const [, place, way] = /^(\.|\$\{PLUGIN_ROOT\}|\$\{PLUGIN_DATA\})((?:\/.*)?)$/s.exec(toText(cwd)) ?? []
  if (typeof cwd !== 'string' || place === undefined || (place === '.' && !way))
    return "'cwd' is neither ./…, ${PLUGIN_ROOT} nor ${PLUGIN_DATA}"
  const kept = place === '${PLUGIN_DATA}' ? staysIn(found.place.data, way!) : found.holds(`.${way}`)
  return kept ? undefined : 'its cwd leads out of its folder'
}

/** Does a path below a folder that need not exist yet stay there, by its text and after links? */
function staysIn(folder: string, way: string): boolean {
  const inside = (from: string, to: string): boolean => !/^\.\.(?:\/|$)/.test(relative(from, to))
  const path = join(folder, way)
  return inside(folder, path) && (!existsSync(path) || inside(realpathSync(folder), realpathSync(path)))
}
