import { join } from 'node:path'

/** How a client is told of a server. */
export interface EditorClient {
  /** Where it reads its servers. */
  file(places: { workspace: string; home: string; env: NodeJS.ProcessEnv }): string
  /** Keys of the object that holds one entry a server; without them the file is TOML of one table a server. */
  path?: string[]
  entry(command: string[]): Record<string, unknown>
}

const stdio = ([command, ...args]: string[]) => ({ type: 'stdio', command, args })
const plain = ([command, ...args]: string[]) => ({ command, args })

/** By the documentation of each client, November 2026. */
export const clients: Record<string, EditorClient> = {
  'claude-code': { file: ({ workspace }) => join(workspace, '.mcp.json'), path: ['mcpServers'], entry: stdio },
  codex: { file: ({ home, env }) => join(env['CODEX_HOME'] ?? join(home, '.codex'), 'config.toml'), entry: plain },
  vscode: { file: ({ workspace }) => join(workspace, '.vscode/mcp.json'), path: ['servers'], entry: (command) => stdio([...command, '--workspace', '${workspaceFolder}']) },
  zed: { file: ({ home }) => join(home, '.config/zed/settings.json'), path: ['context_servers'], entry: (command) => ({ source: 'custom', ...plain(command) }) },
  cursor: { file: ({ workspace }) => join(workspace, '.cursor/mcp.json'), path: ['mcpServers'], entry: stdio },
  gemini: { file: ({ workspace }) => join(workspace, '.gemini/settings.json'), path: ['mcpServers'], entry: plain },
  opencode: { file: ({ workspace }) => join(workspace, 'opencode.json'), path: ['mcp'], entry: (command) => ({ type: 'local', command, enabled: true }) },
}
