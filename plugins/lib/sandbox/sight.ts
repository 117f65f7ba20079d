import { existsSync, lstatSync, readFileSync, readlinkSync, realpathSync, statSync } from 'node:fs'
import { userInfo } from 'node:os'
import { dirname, join, relative } from 'node:path'
import { inside } from '../../../core/system/index.js'

/** Programs and libraries of the system. Of `/nix` neither the socket of its daemon nor its database. */
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
 * Folders of the home in which package managers keep programs and packages. Where such a folder also holds logins (`.cargo/credentials.toml`,
 * `.m2/settings.xml`, `.gem/credentials`), only what is programs and packages is named.
 */
const TOOL_FOLDERS = `
  bin .nvm .fnm .n .nodenv .volta .bun/bin .bun/install .deno .yarn/bin .npm/_cacache .npm/_npx .npm-global .local/share/fnm .local/share/pnpm .cache/pnpm
  .cache/yarn .cache/node .cache/deno .cache/ms-playwright .cache/puppeteer .cache/Cypress .cache/electron .cache/node-gyp .cache/typescript
  .pyenv .conda/envs .conda/pkgs miniconda3 miniforge3 anaconda3 mambaforge .local/share/mamba .local/bin .local/lib .local/pipx .local/share/pipx .local/share/uv .cache/pip .cache/uv
  .cache/pypoetry .local/share/virtualenvs .cache/pre-commit
  .cargo/bin .cargo/registry .cargo/git .cargo/env .rustup .cache/sccache go/bin go/pkg sdk .cache/go-build .asdf .local/share/mise .mise .proto .pkgx
  .rbenv .rvm .gem/ruby .local/share/gem .bundle/cache .sdkman/candidates .jenv .jdks .m2/repository .m2/wrapper .gradle/caches .gradle/wrapper .ivy2/cache .cache/coursier
  .dotnet .nuget/packages .composer/vendor .config/composer/vendor .ghcup .cabal/bin .cabal/packages .stack/programs .opam .elan .juliaup .julia/packages
  .pub-cache/bin .pub-cache/hosted .krew/bin .tfenv .foundry/bin .zvm .nimble .swiftly .luarocks .nix-profile .local/state/nix/profiles
`
  .trim()
  .split(/\s+/)

/** Of the home, what no command has any business with where the home is in sight for another reason. */
const SECRETS = `
  .ssh .gnupg .aws .azure .kube .docker .vtcode .password-store .vault-token .pgpass .my.cnf .netrc .npmrc .yarnrc.yml .pypirc .git-credentials .config/git/credentials
  .config/gcloud .config/gh .config/glab-cli .config/hub .config/rclone .config/op .config/doctl .config/heroku .config/containers .config/github-copilot .config/configstore
  .config/opencode .local/share/opencode .codex .claude .claude.json .gemini .copilot .cursor .continue .cargo/credentials .cargo/credentials.toml .m2/settings.xml
  .m2/settings-security.xml .gradle/gradle.properties .gem/credentials .nuget/NuGet .composer/auth.json .config/composer/auth.json .pub-cache/credentials.json
  .config/pub-credentials.json .terraform.d .terraformrc .oci .boto .s3cfg .local/share/keyrings .mozilla .config/google-chrome .config/chromium .config/BraveSoftware
  .thunderbird .config/Signal .cache/huggingface/token .huggingface .kaggle .bash_history .zsh_history .python_history .node_repl_history .psql_history .mysql_history
`
  .trim()
  .split(/\s+/)
/** What a person's shell and programs do at their next start: of the home, where it is the workspace. */
const STARTUP_FILES =
  '.config .local .bashrc .bash_profile .bash_login .bash_logout .profile .zshrc .zshenv .zprofile .zlogin .inputrc .gitconfig .vimrc .vim .emacs.d .tmux.conf .xprofile .xsessionrc .crontab bin'.split(
    ' ',
  )
/** Of the system: root reads these although nobody else does. */
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

/** One place of the sandbox's file system and how bubblewrap makes it. */
export interface Mount {
  path: string
  args: string[]
  /** What is there is what is there outside. */
  outside?: true
}
/** A place as it is outside. One that is gone meanwhile is left out. */
export const createBindMount = (path: string, how: 'bind' | 'ro-bind' = 'ro-bind'): Mount => ({
  path,
  args: [`--${how}-try`, path, path],
  outside: true,
})
export const createEmptyMount = (path: string, bytes: number): Mount => ({
  path,
  args: ['--size', String(bytes), '--tmpfs', path],
})

/** The system read-only; what is a link here, as `/bin` mostly is, is the same link there. */
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

/** Often a link out of `/etc`, to what a service of the system writes. */
function createResolverMounts(): Mount[] {
  const real = resolveRealPath('/etc/resolv.conf')
  return real === undefined || inside('/etc', real) ? [] : [createBindMount(real)]
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
 * Tool folders of the home, and of the one of the account where HOME names another, that are there. One that a command could have put
 * up, as a link to anywhere, is not believed.
 */
export function createToolMounts(home: string, workspace: string): Mount[] {
  const names = [...new Set([home, findAccountHome()])].flatMap((folder) =>
    TOOL_FOLDERS.map((name) => join(folder, name)),
  )
  return names.flatMap((path): Mount[] => {
    const stat = lstatSync(path, { throwIfNoEntry: false })
    return !stat || (inside(workspace, path) && resolveRealPath(path) !== path) ? [] : [createBindMount(path)]
  })
}

/** What belongs to the Node that runs us: its folder where it is an installation, else the program alone. */
export function createNodeMounts(home: string): Mount[] {
  const prefix = dirname(dirname(process.execPath))
  if (isSystemPath(prefix)) return []
  return [
    createBindMount(!inside(prefix, home) && existsSync(join(prefix, 'lib/node_modules')) ? prefix : process.execPath),
  ]
}

/** Where the home lies in the workspace: what steers the person's programs. */
export const listStartupFiles = (home: string): string[] =>
  STARTUP_FILES.map((name) => join(home, name)).filter((path) => existsSync(path) && resolveRealPath(path) === path)

/** Real paths of what is secret and there, in the home, in our own folder of it, and in the system. */
export const listSecrets = (home: string, own: string): string[] =>
  filterReachable([...SECRETS.map((name) => join(home, name)), own])
export const listSystemSecrets = (): string[] => (process.getuid?.() === 0 ? filterReachable(SYSTEM_SECRETS) : [])

/** Real paths of those that are there and that the sandbox gets to. */
export const filterReachable = (paths: string[]): string[] =>
  [...new Set(paths.flatMap((path) => resolveRealPath(path) ?? []))].filter(isReachable)

export const isSystemPath = (path: string): boolean => SYSTEM_PATHS.some((root) => inside(root, path))

/** Sockets by which programs of the machine are reached, as far as the system lists them. */
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
 * Whether the sandbox gets to a place: in it root has the rights of the owner of its own files and no others, and a mount on what
 * cannot be reached would fail.
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

export function resolveRealPath(path: string): string | undefined {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) && realpathSync(path)
  } catch {
    return undefined
  }
}

/** First names of what of the home is in sight. */
export const listHomeNames = (home: string, workspace: string): string[] => [
  ...new Set(
    [...TOOL_FOLDERS, ...(inside(home, workspace) ? [relative(home, workspace)] : [])].map(
      (name) => name.split('/')[0]!,
    ),
  ),
]
