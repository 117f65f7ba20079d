import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SettingsFormat } from './edit.js'

export interface Places {
  workspace: string
  home: string
  env: NodeJS.ProcessEnv
}
/** How a client is told of a server: where in its settings stands one entry a server, and what an entry is. */
export interface EditorClient extends SettingsFormat {
  /** What it is started by, where that is not its name. */
  program?: string
  /** Where it reads its servers. */
  file(places: Places): string
  entry(command: string[], places: Places): Record<string, unknown>
}

const stdio = ([command, ...args]: string[]) => ({ type: 'stdio', command, args })
const plain = ([command, ...args]: string[]) => ({ command, args })
/** Of two names that a client reads, the one that is in use. */
const either = (usual: string, other: string): string => (!existsSync(usual) && existsSync(other) ? other : usual)

function clineFile({ home, env }: Places): string {
  const folder = env['CLINE_DATA_DIR'] || join(env['CLINE_DIR'] || join(home, '.cline'), 'data')
  return env['CLINE_MCP_SETTINGS_PATH'] || join(folder, 'settings/cline_mcp_settings.json')
}

/** By the documentation of each client and, where it can be had, by what it writes itself, November 2026. */
export const clients: Record<string, EditorClient> = {
  'claude-code': {
    program: 'claude',
    file: ({ workspace }) => join(workspace, '.mcp.json'),
    format: 'json',
    path: ['mcpServers'],
    entry: stdio,
  },
  codex: {
    file: ({ home, env }) => join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    format: 'toml',
    path: ['mcp_servers'],
    entry: plain,
  },
  copilot: {
    file: ({ home, env }) => join(env['COPILOT_HOME'] || join(home, '.copilot'), 'mcp-config.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: (command) => ({ type: 'local', ...plain(command) }),
  },
  vscode: {
    program: 'code',
    file: ({ workspace }) => join(workspace, '.vscode/mcp.json'),
    format: 'jsonc',
    path: ['servers'],
    entry: (command) => stdio([...command, '--workspace', '${workspaceFolder}']),
  },
  zed: {
    file: ({ home }) => join(home, '.config/zed/settings.json'),
    format: 'jsonc',
    path: ['context_servers'],
    entry: (command) => ({ source: 'custom', ...plain(command) }),
  },
  cursor: {
    file: ({ workspace }) => join(workspace, '.cursor/mcp.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: stdio,
  },
  // It starts servers in a folder of its own and knows no word for the workspace.
  windsurf: {
    file: ({ home }) => join(home, '.codeium/windsurf/mcp_config.json'),
    format: 'json',
    path: ['mcpServers'],
    entry: (command, { workspace }) => plain([...command, '--workspace', workspace]),
  },
  cline: { file: clineFile, format: 'json', path: ['mcpServers'], entry: plain },
  gemini: {
    file: ({ workspace }) => join(workspace, '.gemini/settings.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: plain,
  },
  // What stands in a workspace it starts only after a yes in its terminal.
  qwen: {
    file: ({ home, env }) => join(env['QWEN_HOME'] || join(home, '.qwen'), 'settings.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: plain,
  },
  opencode: {
    file: ({ workspace }) => either(join(workspace, 'opencode.json'), join(workspace, 'opencode.jsonc')),
    format: 'jsonc',
    path: ['mcp'],
    entry: (command) => ({ type: 'local', command }),
  },
  amp: {
    file: ({ home, env }) =>
      env['AMP_SETTINGS_FILE'] ||
      either(join(home, '.config/amp/settings.json'), join(home, '.config/amp/settings.jsonc')),
    format: 'jsonc',
    path: ['amp.mcpServers'],
    entry: plain,
  },
}
