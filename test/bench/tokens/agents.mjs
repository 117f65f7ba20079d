// How each agent is installed, told of the model's server, run without a terminal, and spoken to in its own words.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = join(dirname(fileURLToPath(import.meta.url)), '../../..')
const put = (path, value) => (
  mkdirSync(dirname(path), { recursive: true }),
  writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value))
)
const bin = (at, path) => join(at, 'node_modules', path)
// Our key of the seal: names of spooled output bear a mark made with it, and have to be the same in every run.
const sealKey = Buffer.alloc(32, 7)
const range = ({ path, offset, limit }) =>
  offset === undefined ? `cat ${path}` : `sed -n '${offset},${offset + limit - 1}p' ${path}`

/** Deeds of tasks as calls: `words` has one for each deed. */
const spoken = (words) => (deed) => Object.entries(deed).flatMap(([kind, value]) => words[kind](value))

/** Ours, on one of the four wires; on the same one as most peers under its bare name. The clock and the random numbers are those of the kit. */
const ours = (api_format, base = '/v1') => {
  return {
    name: api_format === 'openai-chat' ? 'vtcode' : `vtcode, ${api_format}`,
    own: true,
    speak: (call) => [call],
    setup({ home, url, window }) {
      put(join(home, '.vtcode/vtcode.config.json'), {
        custom_providers: [
          {
            name: 'peer',
            api_format,
            base_url: `${url}${base}`,
            models: { m: { supports_vision: true } },
            api_key_env: 'none',
            context_window: window,
          },
        ],
        agent: { model: 'peer/m' },
        policy: { allow: ['unified_exec/run', 'unified_exec/close'], deny: ['Bash(git push:*)'] },
      })
      writeFileSync(join(home, '.vtcode/approvals.key'), sealKey, { mode: 0o600 })
    },
    command: ({ home, question, again }) => ({
      argv: [
        process.execPath,
        '--import',
        join(project, 'test/support/seeded.mjs'),
        join(project, 'dist/core/bin.cjs'),
        'exec',
        ...(again ? ['--continue'] : []),
        question,
      ],
      env: { VTCODE_HOME: join(home, '.vtcode') },
    }),
  }
}

export const agents = [
  ours('openai-chat'),
  ours('openai-responses'),
  ours('anthropic-messages', ''),
  ours('google-generative-ai', '/v1beta'),
  {
    name: 'pi',
    package: '@mariozechner/pi-coding-agent',
    speak: spoken({
      read: ({ path, offset, limit }) => ({
        name: 'read',
        input: { path, ...(offset !== undefined && { offset, limit }) },
      }),
      see: (path) => ({ name: 'read', input: { path } }),
      sh: (command) => ({ name: 'bash', input: { command } }),
      edit: ({ path, edits }) => ({
        name: 'edit',
        input: { path, edits: edits.map(([oldText, newText]) => ({ oldText, newText })) },
      }),
      write: (input) => ({ name: 'write', input }),
    }),
    setup: ({ home, url, window }) =>
      put(join(home, '.pi/agent/models.json'), {
        providers: {
          peer: {
            baseUrl: `${url}/v1`,
            api: 'openai-completions',
            apiKey: 'k',
            models: [{ id: 'm', contextWindow: window, input: ['text', 'image'] }],
          },
        },
      }),
    command: ({ at, question, again }) => ({
      argv: [
        process.execPath,
        bin(at, '@mariozechner/pi-coding-agent/dist/cli.js'),
        '--offline',
        '--provider',
        'peer',
        '--model',
        'm',
        ...(again ? ['-c'] : []),
        '-p',
        question,
      ],
    }),
  },
  {
    name: 'opencode',
    package: 'opencode-linux-x64',
    speak: spoken({
      read: ({ path, offset, limit }) => ({
        name: 'read',
        input: { filePath: path, ...(offset !== undefined && { offset, limit }) },
      }),
      see: (filePath) => ({ name: 'read', input: { filePath } }),
      sh: (command) => ({ name: 'bash', input: { command, description: 'Runs it' } }),
      edit: ({ path, edits }) =>
        edits.map(([oldString, newString]) => ({ name: 'edit', input: { filePath: path, oldString, newString } })),
      write: ({ path, content }) => ({ name: 'write', input: { filePath: path, content } }),
    }),
    setup: ({ home, url, window }) =>
      put(join(home, '.config/opencode/opencode.json'), {
        model: 'peer/m',
        small_model: 'peer/m',
        autoupdate: false,
        share: 'disabled',
        permission: { '*': 'allow' },
        provider: {
          peer: {
            npm: '@ai-sdk/openai-compatible',
            options: { baseURL: `${url}/v1`, apiKey: 'k' },
            models: {
              m: {
                tool_call: true,
                attachment: true,
                modalities: { input: ['text', 'image'], output: ['text'] },
                limit: { context: window, output: 4096 },
              },
            },
          },
        },
      }),
    command: ({ at, question, again }) => ({
      argv: [bin(at, 'opencode-linux-x64/bin/opencode'), 'run', ...(again ? ['-c'] : []), question],
      env: { OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1' },
    }),
  },
  {
    name: 'codex',
    package: '@openai/codex',
    speak: spoken({
      read: (what) => ({ name: 'exec_command', input: { cmd: range(what) } }),
      see: (path) => ({ name: 'view_image', input: { path } }),
      sh: (cmd) => ({ name: 'exec_command', input: { cmd } }),
      edit: ({ path, edits }) => ({
        name: 'exec_command',
        input: { cmd: `perl -0pi -e '${edits.map(([from, to]) => `s/\\Q${from}\\E/${to}/`).join('; ')}' ${path}` },
      }),
      write: ({ path, content }) => ({
        name: 'exec_command',
        input: { cmd: `mkdir -p ${dirname(path)} && cat > ${path} <<'EOF'\n${content}EOF` },
      }),
    }),
    setup: ({ home, url, window }) =>
      put(
        join(home, '.codex/config.toml'),
        `model = "m"\nmodel_provider = "peer"\nmodel_context_window = ${window}\nmodel_auto_compact_token_limit = ${Math.round(window * 0.8)}\n[model_providers.peer]\nname = "peer"\nbase_url = "${url}/v1"\nwire_api = "responses"\n`,
      ),
    command: ({ at, question, again }) => ({
      argv: [
        process.execPath,
        bin(at, '@openai/codex/bin/codex.js'),
        'exec',
        '--skip-git-repo-check',
        '--dangerously-bypass-approvals-and-sandbox',
        ...(again ? ['resume', '--last'] : []),
        question,
      ],
    }),
  },
  {
    name: 'gemini-cli',
    package: '@google/gemini-cli',
    speak: spoken({
      read: ({ path, offset, limit }) => ({
        name: 'read_file',
        input: { file_path: path, ...(offset !== undefined && { start_line: offset, end_line: offset + limit - 1 }) },
      }),
      see: (file_path) => ({ name: 'read_file', input: { file_path } }),
      sh: (command) => ({ name: 'run_shell_command', input: { command, description: 'Runs it' } }),
      edit: ({ path, edits }) =>
        edits.map(([old_string, new_string]) => ({
          name: 'replace',
          input: { file_path: path, instruction: 'Change it.', old_string, new_string },
        })),
      write: ({ path, content }) => ({ name: 'write_file', input: { file_path: path, content } }),
    }),
    // It takes its window from the model's name: a million.
    setup: ({ home, window }) =>
      put(join(home, '.gemini/settings.json'), {
        model: { compressionThreshold: Math.min(0.5, (window * 0.7) / 1_048_576) },
        security: { auth: { selectedType: 'gemini-api-key' } },
        privacy: { usageStatisticsEnabled: false },
      }),
    command: ({ at, url, question, again }) => ({
      argv: [
        process.execPath,
        bin(at, '@google/gemini-cli/bundle/gemini.js'),
        '--skip-trust',
        '-m',
        'gemini-2.5-pro',
        '-y',
        ...(again ? ['-r', 'latest'] : []),
        '-p',
        question,
      ],
      env: { GEMINI_API_KEY: 'k', GOOGLE_GEMINI_BASE_URL: url, GEMINI_CLI_NO_RELAUNCH: 'true' },
    }),
  },
]
