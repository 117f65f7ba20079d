import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { SettingsFormat } from './edit.js'

export interface Places {
  workspace: string
  home: string
  env: NodeJS.ProcessEnv
}
/** The settings of an MCP client: the file, the place of the servers in it, and the form of an entry. */
export interface EditorClient extends SettingsFormat {
  /** The program of the client, where it differs from its name. */
  program?: string
  /** Returns the settings file that lists the servers. */
  file(places: Places): string
  entry(command: string[], places: Places): Record<string, unknown>
}

const toStdioEntry = ([command, ...args]: string[]) => ({ type: 'stdio', command, args })
export const toPlainEntry = ([command, ...args]: string[]) => ({ command, args })
/** Returns the existing file of two that a client reads, by default the usual file. */
const chooseExisting = (usual: string, other: string): string =>
  !existsSync(usual) && existsSync(other) ? other : usual

function resolveClineFile({ home, env }: Places): string {
  const folder = env['CLINE_DATA_DIR'] || join(env['CLINE_DIR'] || join(home, '.cline'), 'data')
  return env['CLINE_MCP_SETTINGS_PATH'] || join(folder, 'settings/cline_mcp_settings.json')
}

/** The supported clients. Source: the documentation of each and, where available, its own files, November 2026. */
export const clients: Record<string, EditorClient> = {
  'claude-code': {
    program: 'claude',
    file: ({ workspace }) => join(workspace, '.mcp.json'),
    format: 'json',
    path: ['mcpServers'],
    entry: toStdioEntry,
  },
  codex: {
    file: ({ home, env }) => join(env['CODEX_HOME'] || join(home, '.codex'), 'config.toml'),
    format: 'toml',
    path: ['mcp_servers'],
    entry: toPlainEntry,
  },
  copilot: {
    file: ({ home, env }) => join(env['COPILOT_HOME'] || join(home, '.copilot'), 'mcp-config.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: (command) => ({ type: 'local', ...toPlainEntry(command) }),
  },
  vscode: {
    program: 'code',
    file: ({ workspace }) => join(workspace, '.vscode/mcp.json'),
    format: 'jsonc',
    path: ['servers'],
    entry: (command) => toStdioEntry([...command, '--workspace', '${workspaceFolder}']),
  },
  zed: {
    file: ({ home }) => join(home, '.config/zed/settings.json'),
    format: 'jsonc',
    path: ['context_servers'],
    entry: (command) => ({ source: 'custom', ...toPlainEntry(command) }),
  },
  cursor: {
    file: ({ workspace }) => join(workspace, '.cursor/mcp.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: toStdioEntry,
  },
  // Windsurf starts servers in its own folder and has no variable for the workspace.
  windsurf: {
    file: ({ home }) => join(home, '.codeium/windsurf/mcp_config.json'),
    format: 'json',
    path: ['mcpServers'],
    entry: (command, { workspace }) => toPlainEntry([...command, '--workspace', workspace]),
  },
  cline: { file: resolveClineFile, format: 'json', path: ['mcpServers'], entry: toPlainEntry },
  gemini: {
    file: ({ workspace }) => join(workspace, '.gemini/settings.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: toPlainEntry,
  },
  // Qwen starts servers of a workspace only after approval in its terminal.
  qwen: {
    file: ({ home, env }) => join(env['QWEN_HOME'] || join(home, '.qwen'), 'settings.json'),
    format: 'jsonc',
    path: ['mcpServers'],
    entry: toPlainEntry,
  },
  opencode: {
    file: ({ workspace }) => chooseExisting(join(workspace, 'opencode.json'), join(workspace, 'opencode.jsonc')),
    format: 'jsonc',
    path: ['mcp'],
    entry: (command) => ({ type: 'local', command }),
  },
  amp: {
    file: ({ home, env }) =>
      env['AMP_SETTINGS_FILE'] ||
      chooseExisting(join(home, '.config/amp/settings.json'), join(home, '.config/amp/settings.jsonc')),
    format: 'jsonc',
    path: ['amp.mcpServers'],
    entry: toPlainEntry,
  },
}
