import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { isInside } from '../../../core/system/index.js'

/** Programs and libraries of the system; of `/nix` neither the daemon's socket nor its database. */
const SYSTEM_PATHS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/etc',
  '/opt',
  '/nix/store',
  '/nix/var/nix/profiles',
  '/run/current-system',
  '/gnu/store',
  '/home/linuxbrew/.linuxbrew',
]

/**
 * Folders of the home with programs and packages. If such a folder also holds logins (`.cargo/credentials.toml`,
 * `.m2/settings.xml`, `.gem/credentials`), only the parts without them are listed.
 */
const TOOL_FOLDERS = `
  bin .nvm .fnm .n .nodenv .volta .bun/bin .bun/install .deno .yarn/bin .npm/_cacache .npm/_npx .npm-global
  .local/share/fnm .local/share/pnpm .cache/pnpm
  .cache/yarn .cache/node .cache/deno .cache/ms-playwright .cache/puppeteer .cache/Cypress .cache/electron
  .cache/node-gyp .cache/typescript
  .pyenv .conda/envs .conda/pkgs miniconda3 miniforge3 anaconda3 mambaforge .local/share/mamba .local/bin
  .local/lib .local/pipx .local/share/pipx .local/share/uv .cache/pip .cache/uv
  .cache/pypoetry .local/share/virtualenvs .cache/pre-commit
  .cargo/bin .cargo/registry .cargo/git .cargo/env .rustup .cache/sccache go/bin go/pkg sdk .cache/go-build .asdf
  .local/share/mise .mise .proto .pkgx
  .rbenv .rvm .gem/ruby .local/share/gem .bundle/cache .sdkman/candidates .jenv .jdks .m2/repository .m2/wrapper
  .gradle/caches .gradle/wrapper .ivy2/cache .cache/coursier
  .dotnet .nuget/packages .composer/vendor .config/composer/vendor .ghcup .cabal/bin .cabal/packages
  .stack/programs .opam .elan .juliaup .julia/packages
  .pub-cache/bin .pub-cache/hosted .krew/bin .tfenv .foundry/bin .zvm .nimble .swiftly .luarocks .nix-profile
  .local/state/nix/profiles
`
  .trim()
  .split(/\s+/)

/** Secrets of the home, hidden if the home is visible for another reason. */
const SECRETS = `
  .ssh .gnupg .aws .azure .kube .docker .vtcode .password-store .vault-token .pgpass .my.cnf .netrc .npmrc
  .yarnrc.yml .pypirc .git-credentials .config/git/credentials
  .config/gcloud .config/gh .config/glab-cli .config/hub .config/rclone .config/op .config/doctl .config/heroku
  .config/containers .config/github-copilot .config/configstore
  .config/opencode .local/share/opencode .codex .claude .claude.json .gemini .copilot .cursor .continue
  .cargo/credentials .cargo/credentials.toml .m2/settings.xml
  .m2/settings-security.xml .gradle/gradle.properties .gem/credentials .nuget/NuGet .composer/auth.json
  .config/composer/auth.json .pub-cache/credentials.json
  .config/pub-credentials.json .terraform.d .terraformrc .oci .boto .s3cfg .local/share/keyrings .mozilla
  .config/google-chrome .config/chromium .config/BraveSoftware
  .thunderbird .config/Signal .cache/huggingface/token .huggingface .kaggle .bash_history .zsh_history
  .python_history .node_repl_history .psql_history .mysql_history
`
  .trim()
  .split(/\s+/)
/** Start files of shells and programs in the home, for a home inside the workspace. */
const STARTUP_FILES = `
  .config .local .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .inputrc
  .gitconfig .vimrc .vim .emacs.d .tmux.conf .xprofile .xsessionrc .crontab bin
`
  .trim()
  .split(/\s+/)
/** Files of the system that only root can read. */
const SYSTEM_SECRETS = [
  '/etc/shadow',
  '/etc/shadow-',
  '/etc/gshadow',
  '/etc/gshadow-',
  '/etc/ssl/private',
  '/etc/krb5.keytab',
  '/etc/rancher',
  '/etc/kubernetes',
]

/** One path of the sandbox and the arguments of bubblewrap that create it. */
export interface Mount {
  path: string
  args: string[]
  /** The path shows the same files as outside. */
  outside?: true
}
/** Mounts a path of the machine; bubblewrap skips it if it no longer exists. */
export const createBindMount = (path: string, how: 'bind' | 'ro-bind' = 'ro-bind'): Mount => ({
  path,
  args: [`--${how}-try`, path, path],
  outside: true,
})
export const createEmptyMount = (path: string, bytes: number): Mount => ({
  path,
  args: ['--size', String(bytes), '--tmpfs', path],
})

/** Mounts the system read-only. A link such as `/bin` stays the same link. */
export function createSystemMounts(): Mount[] {
  return [...SYSTEM_PATHS.flatMap((path) => mirrorPath(path)), ...createResolverMounts()]
}

function mirrorPath(path: string): Mount[] {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (!stat) return []
  return stat.isSymbolicLink() && dirname(path) === '/'
    ? [{ path, args: ['--symlink', readlinkSync(path), path] }]
    : [createBindMount(path)]
}

/** Mounts the target of `/etc/resolv.conf`, often a file of a system service outside `/etc`. */
function createResolverMounts(): Mount[] {
  const real = findRealPath('/etc/resolv.conf')
  return real === undefined || isInside('/etc', real) ? [] : [createBindMount(real)]
}

let accountHome: string | undefined
function findAccountHome(): string {
  try {
    return (accountHome ??= userInfo().homedir)
  } catch {
    return (accountHome = '/')
  }
}

/**
 * Mounts existing tool folders of HOME and of the account's home. Skips a link inside the workspace, because a
 * command could have created it.
 */
export function createToolMounts(home: string, workspace: string): Mount[] {
  const names = [...new Set([home, findAccountHome()])].flatMap((folder) =>
    TOOL_FOLDERS.map((name) => join(folder, name)),
  )
  return names.flatMap((path): Mount[] => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return !stat || (isInside(workspace, path) && findRealPath(path) !== path) ? [] : [createBindMount(path)]
  })
}

/** Mounts the Node that runs this program: its folder if it is an installation, otherwise only the program. */
export function createNodeMounts(home: string): Mount[] {
  const prefix = dirname(dirname(process.execPath))
  if (isSystemPath(prefix)) return []
  return [
    createBindMount(
      !isInside(prefix, home) && existsSync(join(prefix, 'lib/node_modules')) ? prefix : process.execPath,
    ),
  ]
}

/** Returns the start files of the home, for a home inside the workspace. */
export const listStartupFiles = (home: string): string[] =>
  STARTUP_FILES.map((name) => join(home, name)).filter((path) => existsSync(path) && findRealPath(path) === path)

/** Returns the real paths of existing secrets in the home, and of our own folder. */
export const listSecrets = (home: string, own: string): string[] =>
  filterReachable([...SECRETS.map((name) => join(home, name)), own])
export const listSystemSecrets = (): string[] => (process.getuid?.() === 0 ? filterReachable(SYSTEM_SECRETS) : [])

/** Returns the real paths of existing paths that the sandbox can reach. */
export const filterReachable = (paths: string[]): string[] =>
  [...new Set(paths.flatMap((path) => findRealPath(path) ?? []))].filter(isReachable)

export const isSystemPath = (path: string): boolean => SYSTEM_PATHS.some((root) => isInside(root, path))

/** Returns the sockets of the machine, as far as the system lists them. */
export function listSockets(): string[] {
  try {
    const lines = readFileSync('/proc/net/unix', 'latin1').split('\n').slice(1)
    return [...new Set(lines.flatMap((line) => /(?:\S+ +){6}\d+ (\/.+)$/.exec(line)?.[1] ?? []))].filter((path) =>
      statSync(path, { throwIfNoEntry: false })?.isSocket(),
    )
  } catch {
    return []
  }
}

/**
 * Checks whether the sandbox can reach a path. There root has only the rights of an owner, and a mount on an
 * unreachable path would fail.
 */
export function isReachable(path: string): boolean {
  if (process.getuid?.() !== 0) return true
  for (let at = dirname(path); at !== '/'; at = dirname(at)) {
    const stat = statSync(at, { throwIfNoEntry: false })
    if (!stat || !((stat.uid === 0 && stat.mode & 0o100) || (stat.gid === 0 && stat.mode & 0o010) || stat.mode & 0o001))
      return false
  }
  return true
}

export function findRealPath(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) && realpathSync(path)
  } catch {
    return undefined
  }
}

/** Returns the first parts of visible paths in the home. */
export const listHomeNames = (home: string, workspace: string): string[] => [
  ...new Set(
    [...TOOL_FOLDERS, ...(isInside(home, workspace) ? [relative(home, workspace)] : [])].map(
      (name) => name.split('/')[0]!,
    ),
  ),
]
