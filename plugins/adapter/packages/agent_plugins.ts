import { existsSync, readdirSync, realpathSync, statSync } from 'node:fs'
import { join, relative } from 'node:path'
import { omitUndefined } from '../../../core/shapes/index.js'
import { toText } from '../../../core/text/index.js'
import type { JsonObject, PackageSkills } from '../../../core/index.js'
import { validateSkill } from '../../lib/skills/index.js'
import { fill, isObject } from './objects.js'
import type { Package } from './package.js'

const MAX_SKILLS = 500
const formatSchemaUrl = (name: string): string => `https://agent-plugins.org/schemas/1.0.0/${name}.schema.json`
const NAME_PATTERN = /^(?!.*(?:--|\.\.))[a-z0-9](?:[a-z0-9.-]{0,62}[a-z0-9])?$/
const KNOWN_KEYS = [
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
const FIELDS_BY_TYPE: Record<string, string[]> = {
  stdio: ['type', 'command', 'args', 'env', 'cwd'],
  'streamable-http': ['type', 'url', 'headers'],
  sse: ['type', 'url', 'headers'],
}

/** Reads an Agent Plugins package. Returns false when the manifest breaks the format: then nothing of it is used. */
export function readAgentPlugin(found: Package, manifest: JsonObject): boolean {
  const file = `${found.place.root}/plugin.json`
  const wrong = findManifestFault(manifest)
  if (wrong !== undefined) {
    found.reportInvalid(`${file}: ${wrong}.`, file)
    return false
  }
  const strange = Object.keys(manifest).filter((key) => !KNOWN_KEYS.includes(key))
  if (strange.length > 0) found.reportUnsupported({ [`Unknown keys (${strange.join(', ')})`]: strange.length }, file)
  if (manifest['extensions'] !== undefined && !isObject(manifest['extensions']))
    found.reportInvalid(`${file}: 'extensions' is not an object and is ignored.`, file)
  for (const marker of ['vtcode.yaml', 'vtcode.yml', 'vtcode.json', 'vtcode']) {
    if (existsSync(join(found.place.root, marker)))
      found.reportInvalid(
        `${join(found.place.root, marker)} is not read with an Agent Plugins manifest; move it to dev.vtcode/.`,
        file,
      )
  }
  readServers(found)
  readNativePart(found, isObject(manifest['extensions']) ? manifest['extensions']['dev.vtcode'] : undefined, file)
  found.skills = () => listChildSkills(found)
  return true
}

/** Reads the manifests for this program in `dev.vtcode/`, and their entry in `extensions`. */
function readNativePart(found: Package, raw: unknown, file: string): void {
  const { vtcode, options = {} } = isObject(raw) ? raw : {}
  if (
    raw !== undefined &&
    (!isObject(raw) ||
      (vtcode !== undefined && typeof vtcode !== 'string') ||
      !isObject(options) ||
      !Object.values(options).every(isObject))
  ) {
    return found.reportInvalid(
      `${file}: 'extensions.dev.vtcode' must be an object with the range 'vtcode' and with 'options' ` +
        'by contribution; dev.vtcode/ is left out.',
      file,
    )
  }
  const folder = found.resolveFolder('dev.vtcode')
  if (folder)
    found.native = {
      folder,
      options: options as Record<string, JsonObject>,
      ...(vtcode !== undefined && { vtcode: vtcode as string }),
    }
}

/** Lists the immediate children of `skills` with exactly a `SKILL.md` in the open format; unknown keys are allowed. */
function listChildSkills(found: Package): PackageSkills {
  const before = found.diagnostics.length
  const root = found.resolveFolder('skills')
  const names = root ? readdirSync(root).sort() : []
  if (names.length > MAX_SKILLS)
    found.reportInvalid(`${root} holds ${names.length} folders; only the first ${MAX_SKILLS} are read.`, root!)
  const folders = names.slice(0, MAX_SKILLS).flatMap((name) => {
    const folder = join(root!, name)
    const file = join(folder, 'SKILL.md')
    if (!statSync(folder, { throwIfNoEntry: false })?.isDirectory() || !readdirSync(folder).includes('SKILL.md'))
      return []
    if (
      found.resolveInside(`skills/${name}/SKILL.md`) === undefined ||
      found.readFileBytes(file, 1_048_576) === undefined
    )
      return []
    const [wrong] = validateSkill(folder).complaints.filter(({ message }) => !message.startsWith('Unexpected fields'))
    if (!wrong) return [realpathSync(folder)]
    found.reportInvalid(
      `${file}: the skill is left out: ${wrong.message}.`,
      `${file}${wrong.line === undefined ? '' : `:${wrong.line}`}`,
    )
    return []
  })
  return { folders, texts: [], diagnostics: found.diagnostics.splice(before) }
}

function findManifestFault({ $schema, name, author, ...facts }: JsonObject): string | undefined {
  if ($schema !== formatSchemaUrl('plugin'))
    return `'$schema' is ${JSON.stringify($schema)}; use ${formatSchemaUrl('plugin')}`
  if (typeof name !== 'string' || !NAME_PATTERN.test(name))
    return `'name' is ${JSON.stringify(name)}; use lower-case letters, digits, single . and -`
  const text = ['version', 'description', 'homepage', 'repository', 'license'].find(
    (key) => facts[key] !== undefined && typeof facts[key] !== 'string',
  )
  if (text !== undefined) return `'${text}' is not a string`
  const { keywords } = facts
  if (keywords !== undefined && !(Array.isArray(keywords) && keywords.every((word) => typeof word === 'string')))
    return "'keywords' is not a list of strings"
  if (author === undefined) return undefined
  if (!isObject(author) || typeof author['name'] !== 'string') return "'author' has no name"
  const odd = Object.entries(author).find(
    ([key, value]) => !['name', 'email', 'url'].includes(key) || typeof value !== 'string',
  )
  return odd && `'author' holds '${odd[0]}', which is not allowed`
}

function readServers(found: Package): void {
  const file = `${found.place.root}/mcp.json`
  const document = found.readJson('mcp.json')
  if (!document) return
  const { $schema, mcpServers, ...others } = document
  if ($schema !== formatSchemaUrl('mcp') || !isObject(mcpServers) || Object.keys(others).length > 0) {
    return found.reportInvalid(`${file} breaks its schema; none of its servers is used.`, file)
  }
  const variables = { PLUGIN_ROOT: found.place.root, PLUGIN_DATA: found.place.data }
  for (const [name, raw] of Object.entries(mcpServers)) {
    const wrong = isObject(raw) ? findServerFault(raw, found) : 'it is not an object'
    if (wrong !== undefined) found.reportInvalid(`${file}: the server ${name} is left out: ${wrong}.`, file)
    else {
      const { args, env, cwd, ...rest } = raw as JsonObject
      found.addManifest(
        name,
        { mcp: { server: { ...rest, ...fill({ ...omitUndefined({ args, env, cwd }) } as JsonObject, variables) } } },
        file,
      )
    }
  }
}

function findServerFault(server: JsonObject, found: Package): string | undefined {
  const fields = FIELDS_BY_TYPE[toText(server['type'])]
  if (!fields) return `its type is ${JSON.stringify(server['type'])}`
  const odd = Object.keys(server).find((key) => !fields.includes(key))
  if (odd !== undefined) return `'${odd}' does not belong to a server of type ${toText(server['type'])}`
  return server['type'] === 'stdio' ? findProgramFault(server, found) : findAddressFault(server)
}

const isTextMap = (value: unknown): boolean =>
  value === undefined || (isObject(value) && Object.values(value).every((text) => typeof text === 'string'))

function findAddressFault({ url, headers }: JsonObject): string | undefined {
  if (typeof url !== 'string' || !isTextMap(headers)) return 'its URL or headers are not strings'
  if (!URL.canParse(url)) return 'its URL is not absolute'
  const { protocol, hostname, username, password } = new URL(url)
  if (username || password || url.includes('#')) return 'its URL must not hold a user name, a password or a fragment'
  const local = /^(?:localhost|127(?:\.\d+){3}|\[::1\])$/.test(hostname)
  if (protocol !== 'https:' && !(protocol === 'http:' && local))
    return 'its URL needs https, or an address of this machine'
  const declared = Object.entries((headers ?? {}) as Record<string, string>)
  const names = declared.map(([name]) => name.toLowerCase())
  if (new Set(names).size < names.length) return 'a header is listed twice'
  return declared.some(([name, text]) => !/^[\w!#$%&'*+.^`|~-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(text))
    ? 'a header is not a valid HTTP header'
    : undefined
}

function findProgramFault({ command, args, env, cwd }: JsonObject, found: Package): string | undefined {
  if (typeof command !== 'string' || !COMMAND_PATTERN.test(command) || command.includes('${')) {
    return `its command ${JSON.stringify(command)} is not a single word or ./path`
  }
  if (command.startsWith('./') && !found.containsPath(command)) return 'its command leads out of the package'
  if (args !== undefined && !(Array.isArray(args) && args.every((arg) => typeof arg === 'string'))) {
    return "'args' is not a list of strings"
  }
  if (
    !isTextMap(env) ||
    Object.keys((env ?? {}) as object).some((name) => name === 'PLUGIN_ROOT' || name === 'PLUGIN_DATA')
  )
    return "'env' holds a value that is not a string, or sets PLUGIN_ROOT or PLUGIN_DATA"
  return cwd === undefined ? undefined : findFolderFault(cwd, found)
}

/** A path below the package, or one word: a word with blanks would be a command line. */
const COMMAND_PATTERN = /^(?:\.\/.*|[^\s/\\]+)$/s

function findFolderFault(cwd: unknown, found: Package): string | undefined {
  const [, place, way] = /^(\.|\$\{PLUGIN_ROOT\}|\$\{PLUGIN_DATA\})((?:\/.*)?)$/s.exec(toText(cwd)) ?? []
  if (typeof cwd !== 'string' || place === undefined || (place === '.' && !way))
    return "'cwd' is neither ./…, ${PLUGIN_ROOT} nor ${PLUGIN_DATA}"
  const kept = place === '${PLUGIN_DATA}' ? isInside(found.place.data, way!) : found.containsPath(`.${way}`)
  return kept ? undefined : 'its cwd leads out of its folder'
}

/** Returns whether a path stays below a folder that may not exist yet, by its text and after links. */
function isInside(folder: string, way: string): boolean {
  const inside = (from: string, to: string): boolean => !/^\.\.(?:\/|$)/.test(relative(from, to))
  const path = join(folder, way)
  return inside(folder, path) && (!existsSync(path) || inside(realpathSync(folder), realpathSync(path)))
}
