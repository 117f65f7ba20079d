/** Name of a steering file: a program that reads the file runs code that the file names. */
export interface SteeringName {
  /** Name of a file or folder in lower case; `*` matches characters of one name, `/` separates folders. */
  name: string
  /** `root`: only in the root of the workspace. */
  at: 'root' | 'anywhere'
  /** `deny`: no tool may write it. `ask`: the user is asked. */
  verdict: 'deny' | 'ask'
  /** Program that runs code of the file, as a noun. */
  steers: string
  /** Names in this folder below which tools may write. */
  except?: readonly string[]
}

const createNames = (steers: string, names: string, verdict: SteeringName['verdict'] = 'ask'): SteeringName[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => ({ name, at: 'anywhere', verdict, steers }))

/** The only list of steering files: the policies judge by it, and the sandbox protects the existing ones. */
export const STEERING_NAMES: readonly SteeringName[] = [
  ...createNames('git', '.git', 'deny'),
  { name: '.vtcode', at: 'root', verdict: 'deny', steers: 'vtcode', except: ['plans'] },
  ...createNames('vtcode', '.vtcode vtcode.config.* .vtcoderc .vtcoderc.* .config/vtcoderc .config/vtcoderc.* .agents'),
  ...createNames('git', '.gitmodules .gitconfig .config/git .githooks'),
  ...createNames(
    'git hooks',
    `.husky .pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook.jsonc
    lefthook-local.* .lefthook.* .overcommit.yml .git-hooks`,
  ),
  ...createNames('Mercurial, Jujutsu or Sapling', '.hg/hgrc .hg/hgrc-not-shared .jj/repo/config.toml .sl/config'),
  ...createNames('direnv', '.envrc'),
  ...createNames('npm', '.npmrc'),
  ...createNames('mise or asdf', '.tool-versions'),
  ...createNames(
    'mise',
    `mise.toml mise.*.toml .mise.toml .mise.*.toml .mise mise/config.toml mise/config.*.toml .config/mise.toml
    .config/mise`,
  ),
  ...createNames('vim', '.vimrc .gvimrc .exrc .nvimrc .nvim.lua'),
  ...createNames('an interpreter', '.rprofile .irbrc .pryrc .pdbrc .ghci .ocamlinit .octaverc'),
  ...createNames('Claude Code and other MCP clients', '.claude .mcp.json'),
  ...createNames('Codex', '.codex'),
  ...createNames('Cursor', '.cursor'),
  ...createNames('Gemini CLI', '.gemini'),
  ...createNames('opencode', 'opencode.json opencode.jsonc .opencode .config/opencode'),
  ...createNames('Visual Studio Code', '.vscode *.code-workspace'),
  ...createNames('Zed', '.zed .config/zed'),
  ...createNames('GitHub Copilot hooks', '.github/hooks .github/copilot'),
  ...createNames('Pi', '.pi'),
  ...createNames('Helix', '.helix'),
  ...createNames(
    'an MCP client',
    `.kilocode .factory .amp .augment .windsurf .kiro .roo .amazonq .continue .junie .qwen .trae .crush.json
    crush.json .vs/mcp.json`,
  ),
  ...createNames('Visual Studio', '.vs/tasks.vs.json .vs/launch.vs.json'),
  ...createNames('Sublime Text', '*.sublime-project'),
  ...createNames('aider', '.aider.conf.yml'),
  ...createNames('OpenHands scripts', '.openhands'),
  ...createNames('development containers', '.devcontainer .devcontainer.json'),
  ...createNames('a browser workspace', '.gitpod.yml .idx .codesandbox .replit'),
  ...createNames('devbox', 'devbox.json'),
  ...createNames('JetBrains editors', '.idea .fleet .run'),
  ...createNames(
    'the shell',
    `.bashrc .zshrc .kshrc .cshrc .tcshrc .shrc .bashenv .zshenv .kshenv .cshenv .tcshenv .shenv .profile
    .bash_profile .zprofile .login .bash_login .zlogin .logout .bash_logout .zlogout .bash_aliases .config/fish`,
  ),
]

/** Files of a git folder that git changes in normal use. Every other file decides what git reads or runs. */
export const GIT_CHANGES: readonly RegExp[] = [
  /^(objects|refs|logs|rr-cache|lfs|reftable)$/,
  /^(index|sharedindex\.[0-9a-f]+|packed-refs|shallow)$/,
  // Heads such as HEAD, ORIG_HEAD, FETCH_HEAD; messages and notes of an active commit, merge or rebase.
  /^[A-Z][A-Z_]*(HEAD|_MSG|EDITMSG|_MODE|_LOG|_NAMES|_RR|_MERGE|_START|_TERMS|_PATHS_TO_STAGE)$|^HEAD$|^AUTO_MERGE$/,
  /^(rebase-merge|rebase-apply|sequencer)$/,
  /^gc\.(log|pid)$/,
  /\.lock$/,
]

/** Steering files of a git folder that are often missing; only a person creates them. */
export const GIT_ABSENT_NAMES: readonly string[] = [
  'config',
  'config.worktree',
  'commondir',
  'hooks',
  'info/attributes',
  'objects/info/alternates',
]

/** Names that a pattern in a command may match. */
export const PROTECTED_NAMES: readonly string[] = [
  ...new Set([
    ...STEERING_NAMES.flatMap(({ name }) => name.split('/')),
    ...GIT_ABSENT_NAMES.flatMap((name) => name.split('/')),
  ]),
].filter((name) => !name.includes('*'))
