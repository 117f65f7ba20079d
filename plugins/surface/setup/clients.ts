import { join } from 'node:path'
import type { SettingsFormat } from './edit.js'

/** How a client is told of a server: where in its settings stands one entry a server, and what an entry is. */
export interface EditorClient extends SettingsFormat {
  /** Where it reads its servers. */
  file(places: { workspace: string; home: string; env: NodeJS.ProcessEnv }): string
  entry(command: string[]): Record<string, unknown>
}

const stdio = ([command, ...args]: string[]) => ({ type: 'stdio', command, args })
const plain = ([command, ...args]: string[]) => ({ command, args })

/** By the documentation of each client, November 2026. */
export const clients: Record<string, EditorClient> = {
  'claude-code': { file: ({ workspace }) => join(workspace, '.mcp.json'), format: 'json', path: ['mcpServers'], entry: stdio },
  codex: { file: ({ home, env }) => join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'), format: 'toml', path: ['mcp_servers'], entry: plain },
  vscode: { file: ({ workspace }) => join(workspace, '.vscode/mcp.json'), format: 'jsonc', path: ['servers'], entry: (command) => stdio([...command, '--workspace', '${workspaceFolder}']) },
  zed: { file: ({ home }) => join(home, '.config/zed/settings.json'), format: 'jsonc', path: ['context_servers'], entry: (command) => ({ source: 'custom', ...plain(command) }) },
  cursor: { file: ({ workspace }) => join(workspace, '.cursor/mcp.json'), format: 'jsonc', path: ['mcpServers'], entry: stdio },
  gemini: { file: ({ workspace }) => join(workspace, '.gemini/settings.json'), format: 'jsonc', path: ['mcpServers'], entry: plain },
  opencode: { file: ({ workspace }) => join(workspace, 'opencode.json'), format: 'jsonc', path: ['mcp'], entry: (command) => ({ type: 'local', command, enabled: true }) },
}
