import { baseName, isOneWord, isStatic, type Argv } from './words.js'

/** Options of a program before its subcommand. An option in neither list may take the next word or not. */
interface GlobalOptions {
  /** Options that take the next word as their value. */
  valued?: string
  /** Options without a value in the next word. */
  plain?: string
}

/** Programs with subcommands, and their options as the help of the named version lists them. */
const PROGRAMS: Record<string, GlobalOptions> = {
  // git 2.39.5
  git: {
    valued: '-C -c --git-dir --work-tree --namespace --super-prefix --config-env',
    plain:
      '-p --paginate -P --no-pager --no-replace-objects --bare --literal-pathspecs --glob-pathspecs ' +
      '--noglob-pathspecs --icase-pathspecs --no-optional-locks --exec-path --html-path --man-path --info-path',
  },
  // Docker 28.2.2
  docker: {
    valued: '--config -c --context -H --host -l --log-level --tlscacert --tlscert --tlskey',
    plain: '-D --debug --tls --tlsverify',
  },
  // npm 11.19.1: each configuration key is an option.
  npm: {
    valued: '--registry --prefix -C --userconfig --globalconfig --cache --loglevel --tag --otp -w --workspace',
    plain: '-s --silent -q --quiet -d --verbose -g --global --offline --prefer-offline',
  },
  // pip 23.2.1
  pip: {
    valued:
      '--python --log --keyring-provider --proxy --retries --timeout --exists-action --trusted-host --cert ' +
      '--client-cert --cache-dir --use-feature --use-deprecated',
    plain: '--debug --isolated --require-virtualenv -v --verbose -q --quiet --no-input --no-cache-dir --no-color',
  },
  // cargo 1.95.0
  cargo: { valued: '--color -C --config -Z', plain: '-v -vv --verbose -q --quiet --locked --offline --frozen' },
  // kubectl 1.32.4
  kubectl: {
    valued:
      '--as --as-group --as-uid --cache-dir --certificate-authority --client-certificate --client-key --cluster ' +
      '--context --kubeconfig -n --namespace --password --request-timeout -s --server --token --user --username -v',
    plain: '--disable-compression --insecure-skip-tls-verify --match-server-version --warnings-as-errors',
  },
  // systemd 252
  systemctl: {
    valued: '-H --host -M --machine -t --type --state -p --property -s --signal --root --image -n --lines -o --output',
    plain: '--system --user --global -q --quiet --no-pager --no-block --no-wall --now --force -f --dry-run -a --all',
  },
  // tmux 3.3a
  tmux: { valued: '-c -f -L -S -T', plain: '-2 -C -D -l -N -u -v' },
  // Terraform 1.11.4 writes the value of its only option in the same word.
  terraform: {},
  ...Object.fromEntries(
    `apt apt-get aws az brew bun bundle composer conda corepack deno dnf dotnet flyctl gcloud gem gh glab go helm heroku
    hg ip netlify nmcli npx pipx pnpm podman poetry pulumi rustup svn uv vercel wrangler yarn yum`
      .trim()
      .split(/\s+/)
      .map((name) => [name, {}]),
  ),
}
const ALIASES: Record<string, string> = { pip3: 'pip', tofu: 'terraform' }

/**
 * Returns the command as it reads without the options before its subcommand, in each way that the options can be read:
 * an option that is not known may take the next word as its value. Empty for a program without subcommands.
 */
export function listSubcommandReadings(argv: Argv): Argv[] {
  const [program, ...words] = argv
  if (!program || !isStatic(program)) return []
  const name = baseName(program.text)
  const key = ALIASES[name] ?? name
  if (!Object.hasOwn(PROGRAMS, key)) return []
  const starts = findSubcommands(words, splitOptions(PROGRAMS[key]!))
  return starts.map((at) => [program, ...words.slice(at)])
}

/** Returns each position at which the subcommand may be, if any option comes before it. */
function findSubcommands(words: Argv, { valued, plain }: KnownOptions): number[] {
  const starts: number[] = []
  let at = 0
  while (at < words.length && isOption(words[at]!.text)) {
    const { text } = words[at++]!
    const value = words[at]
    if (!value || text.includes('=') || text.startsWith('+') || plain.has(text)) continue
    const isKnown = valued.has(text)
    if (!isKnown && isOption(value.text)) continue
    // A value that may be several words may also contain the subcommand.
    if (!isKnown || !isOneWord(value)) starts.push(at)
    at++
  }
  return at > 0 && at < words.length ? [...starts, at] : starts
}

/** `+nightly` chooses a toolchain of Rust before the subcommand. */
const isOption = (text: string): boolean => /^(-.|\+\w)/.test(text) && text !== '--'

interface KnownOptions {
  valued: ReadonlySet<string>
  plain: ReadonlySet<string>
}
const splitOptions = ({ valued = '', plain = '' }: GlobalOptions): KnownOptions => ({
  valued: new Set(valued.split(' ')),
  plain: new Set(plain.split(' ')),
})
