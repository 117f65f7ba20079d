import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { clients, toPlainEntry, type EditorClient, type Places } from './clients.js'

const quoteWords = (words: readonly string[]): string[] => words.map((word) => JSON.stringify(word))

/** Returns the file in which an Emacs of this user starts. */
function resolveEmacsFile({ home, env }: Places): string {
  const usual = join(home, '.emacs.d/init.el')
  const others = [
    join(home, '.emacs'),
    join(home, '.emacs.el'),
    usual,
    join(resolveConfig({ home, env }), 'emacs/init.el'),
  ]
  return others.find((file) => existsSync(file)) ?? usual
}
const resolveConfig = ({ home, env }: Pick<Places, 'home' | 'env'>): string =>
  env['XDG_CONFIG_HOME'] || join(home, '.config')

/** Adds the agent to CodeCompanion, which knows agents by functions that return an adapter. */
const createLua = (command: string[]): string =>
  `vim.schedule(function()
  local found, config = pcall(require, "codecompanion.config")
  if not found or not config.adapters or not config.adapters.acp then
    return
  end
  config.adapters.acp.vtcode = function()
    return require("codecompanion.adapters").extend("goose", {
      name = "vtcode",
      formatted_name = "vtcode",
      commands = { default = { ${quoteWords(command).join(', ')} } },
    })
  end
end)`

/** Adds the agent to the list of agent-shell. */
const createLisp = ([command = '', ...args]: string[]): string =>
  `(with-eval-after-load 'agent-shell
  (add-to-list 'agent-shell-agent-configs
               (agent-shell-make-agent-config
                :identifier 'vtcode
                :mode-line-name "vtcode"
                :buffer-name "vtcode"
                :shell-prompt "vtcode> "
                :shell-prompt-regexp "vtcode> "
                :client-maker (lambda (buffer)
                                (agent-shell--make-acp-client
                                 :command ${JSON.stringify(command)}
                                 :command-params '(${quoteWords(args).join(' ')})
                                 :context-buffer buffer)))))`

/**
 * The editors that start the agent. Source: the documentation of Zed and JetBrains AI Assistant, and the sources of
 * CodeCompanion and agent-shell, November 2026.
 */
export const agentEditors: Record<string, EditorClient> = {
  // The settings file that also lists the server.
  zed: {
    ...clients['zed']!,
    path: ['agent_servers'],
    entry: (command) => ({ type: 'custom', ...toPlainEntry(command) }),
  },
  jetbrains: {
    program: 'idea',
    file: ({ home }) => join(home, '.jetbrains/acp.json'),
    format: 'jsonc',
    path: ['agent_servers'],
    entry: toPlainEntry,
  },
  neovim: {
    program: 'nvim',
    file: (places) => join(resolveConfig(places), 'nvim/after/plugin/vtcode.lua'),
    format: 'block',
    path: ['--'],
    entry: (command) => ({ text: createLua(command) }),
  },
  emacs: {
    file: resolveEmacsFile,
    format: 'block',
    path: [';;'],
    entry: (command) => ({ text: createLisp(command) }),
  },
}
