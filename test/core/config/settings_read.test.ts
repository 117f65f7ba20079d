import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { describe, expect, it } from 'vitest'
import { validateConfigFile } from 'vtcode'
import { tempWorkspace } from 'vtcode/test'
import { vtcode } from '../../support/program.js'

// An unread setting would have no effect: each leaf of the schema is compared with the reads in the sources.
const root = fileURLToPath(new URL('../../..', import.meta.url))
interface Schema {
  [key: string]: unknown
  $ref?: string
  properties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  items?: Schema
  anyOf?: Schema[]
}
const schema = JSON.parse(readFileSync(join(root, 'manifests/schema/config.1.json'), 'utf8')) as Schema & {
  $defs: Record<string, Schema>
}

/** Every leaf below a node; what several keys share stands under `$defs` once. */
function leavesOf(node: Schema, path: string[] = []): string[] {
  if (node.$ref !== undefined) return []
  const more = typeof node.additionalProperties === 'object' ? leavesOf(node.additionalProperties, path) : []
  const parts = [
    ...Object.entries(node.properties ?? {}).flatMap(([key, value]) => leavesOrSelf(value, [...path, key])),
    ...more,
  ]
  const others = [...(node.items ? [node.items] : []), ...(node.anyOf ?? [])].flatMap((one) => leavesOf(one, path))
  return [...new Set([...parts, ...others])]
}
function leavesOrSelf(node: Schema, path: string[]): string[] {
  const below = leavesOf(node, path)
  return below.length > 0 ? below : [path.join('.')]
}

/** Readers of a block: source files that contain the pattern. The longest block of a leaf counts. */
const readers: Record<string, RegExp> = {
  manifests: /ManifestEntry/,
  use: /settings\.use\b/,
  plugins: /settings\.plugins\b|\bplugins\b.*Settings\b|= (?:kernel|loaded)\.settings/,
  secrets: /settings\.secrets\b/,
  skills: /SkillLocations|settings\.skills\b/,
  policy: /settings\.policy|\{ policy\b|RuleSet/,
  'policy.constraints': /['.]constraints\b/,
  'policy.commands': /CommandEntry|RuleSet/,
  hooks: /HookBlock|HookGroups|HookEntry|CommandHook|HttpHook/,
  mcp: /settings\.mcp\b|\bmcp: \{/,
  'mcp.servers': /\bDefinition\b|\bdefinition\.enabled\b/,
  agent: /AgentSettings|agentSettings|settings\.agent\b|thread\.settings/,
  automation: /AgentSettings|automation/,
  context: /AgentSettings|thread\.settings|context\.settings/,
  tools: /AgentSettings|settings\.tools/,
  sessions: /AgentSettings/,
  subagents: /settings\.subagents/,
  checkpoints: /thread\.settings|settings\.checkpoints\b|CheckpointLimits/,
  custom_providers: /settings\.custom_providers\b/,
  providers: /settings\.providers\b/,
  web: /WebSettings|settings\.web\b/,
  exec: /settings\.exec\b/,
  sandbox: /SandboxSettings|settings\.sandbox\b/,
  language_servers: /settings\.language_servers\b/,
  diagnostics: /settings\.diagnostics\b/,
  output: /settings\.output|context\.settings/,
  trust: /settings\.trust\b|\btrust\.audit_log/,
  telemetry: /AgentSettings/,
  ui: /settings\.ui\b/,
  '$defs.provider': /interface ProviderEntry|\bsource: ProviderSource\b|\bentry\b/,
  '$defs.auth': /interface Auth|type Auth/,
  '$defs.profile': /type Profile|interface Profile|\bfacts\b/,
  '$defs.cost': /\bcost\b/,
  '$defs.compat': /\bcompat\b/,
  '$defs.value': /resolveValue/,
  '$defs.provider_value': /resolveValue/,
  '$defs.rule': /RuleSet|not_match/,
}
/** Settings read as a whole: by editors, by the schema itself, or shown to users as a fact. */
const whole: Record<string, string> = {
  $schema: 'for editors',
  version: 'the schema allows one',
}
/** Facts about a model that `vtcode models` shows, even if the agent does not use them. */
const facts = [
  'supports_reasoning',
  'supports_vision',
  'supports_structured_output',
  'supports_responses_compaction',
  'supports_context_edits',
  'supports_code_mode',
]
for (const fact of facts) for (const kind of ['profile', 'provider']) whole[`$defs.${kind}.${fact}`] = 'shown'

const files = ['core', 'plugins'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.ts'))
    .map((name) => join(root, folder, name)),
)
const sources = files.map((file) => {
  const text = readFileSync(file, 'utf8')
  return { file, text, names: namesIn(ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)) }
})

/** Names that code uses: members, what is taken apart, keys and strings. Types are promises and do not count. */
function namesIn(source: ts.SourceFile): Set<string> {
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return
    if (ts.isPropertyAccessExpression(node)) names.add(node.name.text)
    else if (ts.isStringLiteralLike(node)) names.add(node.text)
    else if (ts.isBindingElement(node) || ts.isPropertyAssignment(node)) {
      const key = ts.isBindingElement(node) ? (node.propertyName ?? node.name) : node.name
      if (ts.isIdentifier(key)) names.add(key.text)
    }
    ts.forEachChild(node, visit)
  }
  visit(source)
  return names
}

/** Of a leaf, the first part that nothing reads where its block is read. */
function unread(leaf: string): string | undefined {
  if (Object.hasOwn(whole, leaf)) return undefined
  const block = Object.keys(readers)
    .filter((known) => leaf === known || leaf.startsWith(`${known}.`))
    .sort((a, b) => b.length - a.length)[0]
  if (block === undefined) return leaf
  const reading = sources.filter(({ text }) => readers[block]!.test(text))
  const steps = leaf.slice(block.length).split('.').filter(Boolean)
  return reading.length === 0 || steps.some((step) => !reading.some(({ names }) => names.has(step))) ? leaf : undefined
}

const leaves = [
  ...leavesOf(schema),
  ...Object.entries(schema.$defs).flatMap(([name, node]) => leavesOf(node, ['$defs', name])),
]

describe('settings and their readers', () => {
  it('finds a reader for every setting of the schema', () => {
    expect(leaves.length).toBeGreaterThan(150)
    expect(leaves.filter((leaf) => unread(leaf) !== undefined)).toEqual([])
  })
  it('detects an unread setting: a new name, a name read elsewhere only, a new block', () => {
    const made = ['web.fetch.max_wonders', 'agent.harness.max_revision_wonders', 'sandbox.allow_hosts', 'ui.enabled']
    expect(made.filter((leaf) => unread(leaf) !== undefined)).toEqual(made)
  })
  it('lists only existing settings in the exceptions of this test', () => {
    expect(Object.keys(whole).filter((leaf) => !leaves.includes(leaf))).toEqual([])
    expect(
      Object.keys(readers).filter((block) => !leaves.some((leaf) => leaf === block || leaf.startsWith(`${block}.`))),
    ).toEqual([])
  })
})

// The full example of the documents, with what is planned and not built.
const full = `manifests: [{ from: ~/dev/acme-grep, dev: true }, 'npm:@acme/vtcode-tools', '!acme-tools:experimental_*']
use: { unified_search/grep: acme_grep, unified_exec/code: false }
plugins: { settings: { acme_grep: { options: { depth: 3 }, timeout_secs: 20 } }, isolate: auto }
secrets: { 'team-tools:api_key': { keychain: { service: team, account: me } }, 'user:token': { env: GH_TOKEN } }
skills: { roots: [~/skills], pin: [ast-grep], workspace: trusted }
policy: { mode: auto, allow: ['Bash(npm test *)'], deny: ['Read(.env)'] }
hooks: { PostToolUse: [{ matcher: 'Edit|Write', hooks: [{ type: command, command: npm, args: [run, lint] }] }] }
mcp: { servers: { docs: { type: streamable-http, url: 'https://mcp.example.com/mcp', auth: { type: bearer, value: { env: DOCS_TOKEN } }, include: ['search*'] } } }
agent: { model: corp/corp-large, harness: { max_tool_calls_per_turn: 60, orchestration_mode: plan_build_evaluate } }
automation: { full_auto: { enabled: true, allowed_tools: [Read, Edit, 'Bash(npm test *)'], max_turns: 40 } }
context: { dynamic: { tool_output_threshold: 4096 } }
web: { deny_hosts: ['*.internal'], search: { max_results: 5 } }
exec: { default_timeout_secs: 120 }
sandbox: { mode: required, network: false }
custom_providers: [{ name: corp, base_url: 'https://llm.corp/v1', api_format: openai-chat, model: corp-large, api_key_env: CORP_API_KEY }]
`
// Keys that come back with their feature; this list only gets shorter.
const ahead: [key: string, text: string][] = [['dev', ', dev: true']]

describe('validateConfigFile', () => {
  const problems = async (text: string): Promise<string[]> => {
    await using place = await tempWorkspace({ 'settings.yaml': text })
    return (await validateConfigFile(join(place.root, 'settings.yaml'))).map(({ message }) => message)
  }
  it('accepts the full example of the documents, except for planned keys', async () => {
    expect(await problems(ahead.reduce((text, [, part]) => text.replace(part, ''), full))).toEqual([])
  })
  it.each(ahead)('reports %s as unknown as long as no code reads it', async (key, part) => {
    const text = ahead.reduce((text, [other, that]) => (other === key ? text : text.replace(that, '')), full)
    expect(text).toContain(part)
    expect((await problems(text)).join()).toContain(`${key}'`)
  })
  it('refuses a misspelled key and names the nearest one', async () => {
    expect(await problems('agent: { harness: { max_revision_round: 2 } }\n')).toEqual([
      expect.stringContaining("Unknown key 'agent.harness.max_revision_round'; did you mean 'max_revision_rounds'?"),
    ])
    expect(await problems('web: { fetch: { max_byte: 1 } }\n')).toEqual([
      expect.stringContaining("Unknown key 'web.fetch.max_byte'; did you mean 'max_bytes'?"),
    ])
    await using place = await tempWorkspace({ 'vtcode.config.yaml': 'agent: { harness: { max_revision_round: 2 } }\n' })
    expect((await vtcode(place, ['tools'])).code).toBe(3)
  })
})
