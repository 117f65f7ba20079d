/** One name that steers programs: what reads it starts, or is told to start, what the file says. */
export interface SteeringName {
  /** Name of a file or folder, in lower case; `*` stands for characters of one name, `/` for a folder that it lies in. */
  name: string
  /** `root`: only in the root of the workspace. */
  at: 'root' | 'anywhere'
  /** `deny`: never written by a tool. `ask`: the user is asked. */
  verdict: 'deny' | 'ask'
  /** What it steers, as the end of a sentence. */
  steers: string
  /** Names in this folder below which tools write as everywhere. */
  except?: readonly string[]
}

const of = (steers: string, names: string, verdict: SteeringName['verdict'] = 'ask'): SteeringName[] =>
  names
    .trim()
    .split(/\s+/)
    .map((name) => ({ name, at: 'anywhere', verdict, steers }))

/** The one list of what steers programs: the policies judge by it, and the sandbox keeps what is there of it as it is. */
export const steeringNames: readonly SteeringName[] = [
  ...of('git', '.git', 'deny'),
  { name: '.vtcode', at: 'root', verdict: 'deny', steers: 'this program', except: ['plans'] },
  ...of('this program', '.vtcode vtcode.config.* .agents'),
  ...of('git', '.gitmodules .gitconfig .config/git .githooks'),
  ...of(
    'git, by its hooks',
    '.husky .pre-commit-config.yaml lefthook.yml lefthook.yaml lefthook.toml lefthook.json lefthook.jsonc lefthook-local.* .lefthook.* .overcommit.yml .git-hooks',
  ),
  ...of(
    'Mercurial, Jujutsu or Sapling, by their settings',
    '.hg/hgrc .hg/hgrc-not-shared .jj/repo/config.toml .sl/config',
  ),
  ...of('direnv', '.envrc'),
  ...of(
    'mise, which trusts a file by its path',
    'mise.toml mise.*.toml .mise.toml .mise.*.toml .mise mise/config.toml mise/config.*.toml .config/mise.toml .config/mise',
  ),
  ...of('vim, where it reads the folder it is started in', '.vimrc .gvimrc .exrc .nvimrc .nvim.lua'),
  ...of(
    'an interpreter, where it reads the folder it is started in',
    '.rprofile .irbrc .pryrc .pdbrc .ghci .ocamlinit .octaverc',
  ),
  ...of('Claude Code and other clients of MCP', '.claude .mcp.json'),
  ...of('Codex', '.codex'),
  ...of('Cursor', '.cursor'),
  ...of('Gemini CLI', '.gemini'),
  ...of('opencode', 'opencode.json opencode.jsonc .opencode .config/opencode'),
  ...of('Visual Studio Code', '.vscode *.code-workspace'),
  ...of('Zed', '.zed .config/zed'),
  ...of('GitHub Copilot, by its hooks', '.github/hooks .github/copilot'),
  ...of('Pi', '.pi'),
  ...of('Helix', '.helix'),
  ...of(
    'a client of MCP',
    '.kilocode .factory .amp .augment .windsurf .kiro .roo .amazonq .continue .junie .qwen .trae .crush.json crush.json .vs/mcp.json',
  ),
  ...of('Visual Studio', '.vs/tasks.vs.json .vs/launch.vs.json'),
  ...of('Sublime Text', '*.sublime-project'),
  ...of('aider', '.aider.conf.yml'),
  ...of('OpenHands, by its scripts', '.openhands'),
  ...of('development containers', '.devcontainer .devcontainer.json'),
  ...of('a workspace in a browser, when it is opened', '.gitpod.yml .idx .codesandbox .replit'),
  ...of('devbox', 'devbox.json'),
  ...of('the editors of JetBrains', '.idea .fleet .run'),
  ...of(
    'the shell',
    `.bashrc .zshrc .kshrc .cshrc .tcshrc .shrc .bashenv .zshenv .kshenv .cshenv .tcshenv .shenv .profile .bash_profile .zprofile
    .login .bash_login .zlogin .logout .bash_logout .zlogout .bash_aliases .config/fish`,
  ),
]

/** What of a git folder git itself changes all day. Everything else in it decides what git reads or runs. */
export const changesInGit: readonly RegExp[] = [
  /^(objects|refs|logs|rr-cache|lfs|reftable)$/,
  /^(index|sharedindex\.[0-9a-f]+|packed-refs|shallow)$/,
  // The heads: HEAD, ORIG_HEAD, FETCH_HEAD and their kin; the messages and notes of a commit, merge or rebase that is going on.
  /^[A-Z][A-Z_]*(HEAD|_MSG|EDITMSG|_MODE|_LOG|_NAMES|_RR|_MERGE|_START|_TERMS|_PATHS_TO_STAGE)$|^HEAD$|^AUTO_MERGE$/,
  /^(rebase-merge|rebase-apply|sequencer)$/,
  /^gc\.(log|pid)$/,
  /\.lock$/,
]

/** What would steer git from inside a git folder and often is not there: nobody but a person puts it there. */
export const absentInGit: readonly string[] = [
  'config',
  'config.worktree',
  'commondir',
  'hooks',
  'info/attributes',
  'objects/info/alternates',
]

/** Names that a pattern in a command may stand for. */
export const protectedNames: readonly string[] = [
  ...new Set([
    ...steeringNames.flatMap(({ name }) => name.split('/')),
    ...absentInGit.flatMap((name) => name.split('/')),
  ]),
].filter((name) => !name.includes('*'))
