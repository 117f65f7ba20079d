// Clients under test: how each is installed, enters a server itself, learns of the model's server, and works on a task without a terminal.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

export const put = (path, value) => (
  mkdirSync(dirname(path), { recursive: true }),
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
)
const node = (at, path, runtime) => [runtime, join(at, 'node_modules', path)]
const program = (at, path) => [join(at, 'node_modules', path)]
/** A settings file with one more entry, as the README describes. */
const changed = (file, change) => {
  const settings = JSON.parse(readFileSync(file, 'utf8'))
  change(settings)
  put(file, settings)
}
const trusting = ({ file }) => changed(file, ({ mcpServers }) => void (mcpServers.vtcode.trust = true))
/** Read-only tools of ours, as rules of a client name them. */
const readers = ['mcp__vtcode__unified_file_read', 'mcp__vtcode__unified_search']

/**
 * `client`: the word of `vtcode setup`, `file` what that edits. `enter`: the client's own command that enters a server; `listed`: the one that lists them.
 * `agree`: its user trusts the folder. `prepare`: settings it needs to work with the model's server. `work`: works on a task, without a rule or with `rule` `reading` or `all`.
 * `rules`: what lets it call those of our tools unasked that only read, where it asks for these too, and all of them; `allow` enters them here.
 */
export const programs = [
  {
    name: 'Claude Code',
    client: 'claude-code',
    package: '@anthropic-ai/claude-code',
    file: ({ work }) => join(work, '.mcp.json'),
    start: (at) => program(at, '@anthropic-ai/claude-code-linux-x64/claude'),
    enter: (name, words) => ['mcp', 'add', '-s', 'project', name, '--', ...words],
    listed: ['mcp', 'list'],
    prepare: ({ home, work }) =>
      put(join(home, '.claude.json'), {
        hasCompletedOnboarding: true,
        projects: { [work]: { hasTrustDialogAccepted: true, enabledMcpjsonServers: ['vtcode'] } },
      }),
    work: ({ url, task, rule }) => ({
      words: ['-p', task, '--model', 'claude-sonnet-4-5', ...(rule === 'all' ? ['--allowedTools', 'mcp__vtcode'] : [])],
      env: {
        ANTHROPIC_BASE_URL: url,
        ANTHROPIC_API_KEY: 'k',
        DISABLE_TELEMETRY: '1',
        DISABLE_AUTOUPDATER: '1',
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1',
      },
    }),
    allow: ({ work }, rule) =>
      rule === 'reading' && put(join(work, '.claude/settings.json'), { permissions: { allow: readers } }),
    rules: {
      reading: `\`{"permissions": {"allow": ${JSON.stringify(readers)}}}\` in \`.claude/settings.json\``,
      all: '`--allowedTools mcp__vtcode`',
    },
  },
  {
    name: 'Codex',
    client: 'codex',
    package: '@openai/codex',
    file: ({ home }) => join(home, '.codex/config.toml'),
    start: (at, runtime) => node(at, '@openai/codex/bin/codex.js', runtime),
    enter: (name, words) => ['mcp', 'add', name, '--', ...words],
    listed: ['mcp', 'list'],
    prepare: () => {},
    work: ({ url, task, rule }) => ({
      words: [
        'exec',
        '--skip-git-repo-check',
        '-c',
        'model="m"',
        '-c',
        'model_provider="peer"',
        '-c',
        `model_providers.peer={ name = "peer", base_url = "${url}/v1", wire_api = "responses" }`,
        ...(rule ? ['-c', 'mcp_servers.vtcode.default_tools_approval_mode="approve"'] : []),
        task,
      ],
    }),
    rules: { all: '`default_tools_approval_mode = "approve"` in its table' },
  },
  {
    name: 'Gemini CLI',
    client: 'gemini',
    package: '@google/gemini-cli',
    file: ({ work }) => join(work, '.gemini/settings.json'),
    start: (at, runtime) => node(at, '@google/gemini-cli/bundle/gemini.js', runtime),
    enter: (name, words) => ['mcp', 'add', name, ...words],
    listed: ['mcp', 'list'],
    // In a folder that it does not trust its own command drops every server that was there.
    agree: ({ home, work }) => put(join(home, '.gemini/trustedFolders.json'), { [work]: 'TRUST_FOLDER' }),
    prepare: ({ home }) =>
      put(join(home, '.gemini/settings.json'), {
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    work: ({ url, task }) => ({
      words: ['-m', 'gemini-2.5-pro', '-p', task],
      env: { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
    }),
    allow: (here, rule) =>
      rule === 'all'
        ? trusting(here)
        : put(
            join(here.home, '.gemini/policies/vtcode.toml'),
            '[[rule]]\nmcpName = "vtcode"\ntoolName = "*"\ntoolAnnotations = { readOnlyHint = true }\ndecision = "allow"\npriority = 100\n',
          ),
    rules: {
      reading:
        'in a file such as `~/.gemini/policies/vtcode.toml`: `[[rule]]`, `mcpName = "vtcode"`, `toolName = "*"`, `toolAnnotations = { readOnlyHint = true }`, `decision = "allow"`, `priority = 100`',
      all: '`"trust": true` in its entry',
    },
  },
  {
    name: 'Qwen Code',
    client: 'qwen',
    package: '@qwen-code/qwen-code',
    file: ({ home }) => join(home, '.qwen/settings.json'),
    start: (at, runtime) => node(at, '@qwen-code/qwen-code/cli.js', runtime),
    enter: (name, words) => ['mcp', 'add', name, ...words],
    listed: ['mcp', 'list'],
    prepare: ({ home }) =>
      put(join(home, '.qwen/settings.json'), {
        security: { auth: { selectedType: 'openai' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    work: ({ url, task }) => ({
      words: ['-p', task],
      env: { OPENAI_API_KEY: 'k', OPENAI_BASE_URL: `${url}/v1`, OPENAI_MODEL: 'm' },
    }),
    allow: (here, rule) =>
      rule === 'all'
        ? trusting(here)
        : changed(here.file, (settings) => void (settings.permissions = { allow: readers })),
    rules: {
      reading: `\`"permissions": {"allow": ${JSON.stringify(readers)}}\` in the same file`,
      all: '`"trust": true` in its entry',
    },
  },
  {
    name: 'Copilot CLI',
    client: 'copilot',
    package: '@github/copilot',
    file: ({ home }) => join(home, '.copilot/mcp-config.json'),
    start: (at) => program(at, '@github/copilot-linux-x64/copilot'),
    enter: (name, words) => ['mcp', 'add', name, '--', ...words],
    listed: ['mcp', 'list'],
    prepare: () => {},
    work: ({ url, task, rule }) => ({
      words: ['--disable-builtin-mcps', '--no-auto-update', ...(rule ? ['--allow-tool', 'vtcode'] : []), '-p', task],
      env: {
        COPILOT_PROVIDER_BASE_URL: `${url}/v1`,
        COPILOT_PROVIDER_API_KEY: 'k',
        COPILOT_MODEL: 'm',
        COPILOT_OFFLINE: 'true',
      },
    }),
    rules: { all: '`--allow-tool vtcode`' },
  },
  {
    name: 'opencode',
    client: 'opencode',
    package: 'opencode-linux-x64',
    file: ({ work }) => join(work, 'opencode.json'),
    // Its own command writes into the home only; what it writes is tried there.
    writes: ({ home }) => join(home, '.config/opencode/opencode.jsonc'),
    start: (at) => program(at, 'opencode-linux-x64/bin/opencode'),
    enter: (name, words) => ['mcp', 'add', name, '--', ...words],
    listed: ['mcp', 'list'],
    prepare: ({ home, url }) =>
      put(join(home, '.config/opencode/opencode.json'), {
        model: 'peer/m',
        small_model: 'peer/m',
        autoupdate: false,
        share: 'disabled',
        provider: {
          peer: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${url}/v1`, apiKey: 'k' },
            models: { m: { tool_call: true, limit: { context: 200_000, output: 4096 } } },
          },
        },
      }),
    work: ({ task }) => ({
      words: ['run', task],
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    }),
    rules: { all: 'nothing: it runs tools of servers unasked' },
  },
  {
    name: 'Cline',
    client: 'cline',
    package: 'cline',
    file: ({ home }) => join(home, '.cline/data/settings/cline_mcp_settings.json'),
    start: (at) => program(at, '@cline/cli-linux-x64/bin/cline'),
    enter: (name, words) => ['mcp', 'add', name, '--yes', '--', ...words],
    prepare: ({ run, url }) => run(['auth', '-p', 'openai', '-k', 'k', '-m', 'm', '-b', `${url}/v1`]),
    work: ({ task, rule }) => ({
      words: ['--auto-approve', rule ? 'true' : 'false', '-P', 'openai', '-m', 'm', task],
      env: {},
    }),
    rules: { all: '`--auto-approve true`, its default' },
  },
  {
    name: 'Amp',
    client: 'amp',
    package: '@sourcegraph/amp',
    file: ({ home }) => join(home, '.config/amp/settings.json'),
    start: (at) => program(at, '@ampcode/cli-linux-x64/amp'),
    enter: (name, words) => ['mcp', 'add', name, '--', ...words],
    listed: ['mcp', 'list'],
    login: 'works after a login only',
  },
]

/** Clients that list and call by hand: no model is between, so what is refused is refused by our server. */
export const callers = [
  {
    name: 'MCP Inspector',
    package: '@modelcontextprotocol/inspector',
    start: (at, runtime) => node(at, '@modelcontextprotocol/inspector/clients/launcher/build/index.js', runtime),
    prepare: ({ work }) =>
      put(join(work, 'mcp.json'), { mcpServers: { vtcode: { type: 'stdio', command: 'vtcode', args: ['mcp'] } } }),
    list: () => ['--cli', '--config', 'mcp.json', '--server', 'vtcode', '--method', 'tools/list'],
    call: (tool, input) => [
      '--cli',
      '--config',
      'mcp.json',
      '--server',
      'vtcode',
      '--method',
      'tools/call',
      '--tool-name',
      tool,
      ...Object.entries(input).flatMap(([key, value]) => ['--tool-arg', `${key}=${value}`]),
    ],
  },
  {
    name: 'mcporter',
    package: 'mcporter',
    start: (at, runtime) => node(at, 'mcporter/dist/cli.js', runtime),
    prepare: ({ run }) => run(['config', 'add', 'vtcode', '--command', 'vtcode', '--arg', 'mcp']),
    list: () => ['list', 'vtcode', '--json'],
    call: (tool, input) => ['call', `vtcode.${tool}`, '--args', JSON.stringify(input)],
  },
]

/** Clients that run in an editor, or not on this machine: test/plugins/surface/setup.test.ts compares the entries of `vtcode setup` with their documented format. */
export const described = ['VS Code', 'Zed', 'Cursor', 'Windsurf', 'the extension of Cline']
