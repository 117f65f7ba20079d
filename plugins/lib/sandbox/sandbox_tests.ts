import { MAX_TASKS, openTaskGroup } from './task_group.js'

/** An act that the sandbox must prevent: shell text that succeeds, or leaves `leftFile`, if the sandbox fails. */
export interface SandboxTest {
  /** Noun phrase for the act. */
  name: string
  script: string
  /** File outside the workspace that proves the act; in the sandbox that path may be another file. */
  leftFile?: string
  /** Slow test, run only on request of a person. */
  slow?: true
  /** Returns an explanation for a known failure. */
  explain?: () => string | undefined
}

/**
 * Tests that run in a workspace with settings, a repository and a denied file. Shell text uses few programs, because
 * all scripts run before the first sandboxed command of each vtcode process.
 */
export const SANDBOX_TESTS: readonly SandboxTest[] = [
  { name: 'writing outside the workspace', script: 'touch "$OUTSIDE/written"; false', leftFile: 'written' },
  { name: 'reading outside the workspace', script: '[ -e "$OUTSIDE/secret" ]' },
  { name: 'remounting read-only paths', script: 'mount -o remount,rw,bind /usr' },
  { name: 'writing programs of the system', script: 'touch /usr/vtcode-probe && rm -f /usr/vtcode-probe' },
  { name: 'writing memory of the machine without a limit', script: ': >/vtcode-probe || : >/dev/vtcode-probe' },
  { name: 'making user namespaces', script: 'unshare -U true' },
  { name: 'capabilities', script: 'grep -q "^Cap\\(Eff\\|Prm\\|Bnd\\|Amb\\):.*[1-9a-f]" /proc/self/status' },
  { name: 'the network', script: 'sed 1,2d /proc/net/dev | grep -qv "^ *lo:"' },
  {
    name: 'signalling processes outside',
    script: '[ "$(cat /proc/$OUTSIDE_PID/comm)" = "$OUTSIDE_COMM" ] && kill -0 "$OUTSIDE_PID"',
  },
  {
    name: 'reading the home folder',
    script: `for path in "$OUTSIDE_HOME"/* "$OUTSIDE_HOME"/.[!.]*; do
  [ -e "$path" ] || continue
  case " $KNOWN_IN_HOME " in *" \${path##*/} "*) ;; *) exit 0 ;; esac
done
exit 1`,
  },
  {
    name: 'reading the state of the machine',
    script: `for path in /run/* /var/* /srv/* /mnt/* /media/* /boot/* /sys/*; do
  [ -e "$path" ] || continue
  case " $KNOWN " in *" $path "*) ;; *) exit 0 ;; esac
done
exit 1`,
  },
  {
    name: 'writing kernel settings',
    script: `cd /proc && for path in sys/kernel/core_pattern sys/kernel/modprobe sys/vm/drop_caches \\
  sys/fs/file-max sysrq-trigger \\
  irq/*/smp_affinity irq/default_smp_affinity bus/pci/*/* scsi/scsi mtrr acpi/* fs/*/* dynamic_debug/control; do
  [ -f "$path" ] && { : >>"$path"; } && exit 0
done
exit 1`,
  },
  { name: 'reading files that only root may read', script: '[ -s /etc/shadow ] && { : </etc/shadow; }' },
  {
    name: 'reading paths that settings deny',
    script: 'cat denied/key || { mv denied elsewhere && cat elsewhere/key; } || cat single',
  },
  {
    name: 'reading records of other sessions',
    script:
      'cat .vtcode/spool/text || cat .vtcode/sessions/other/calls.jsonl || ' +
      'ls .vtcode/spool .vtcode/sessions | grep -q "^[^.]"',
  },
  {
    name: 'reading the home of this program where it lies in the workspace',
    script: 'cat own/approvals.key || { mv own elsewhere && cat elsewhere/approvals.key; }',
  },
  {
    name: 'writing git settings',
    script: '{ : >>.git/config; } || : >.git/hooks/pre-commit || mv .git moved || mv .git/hooks moved',
  },
  {
    name: 'writing settings of this program',
    script: ': >.vtcode/tool-policy.json || mv .vtcode moved || { : >>vtcode.config.yaml; }',
  },
  { name: 'dumping memory to a file', script: '[ "$(ulimit -c)" != 0 ]' },
  { name: 'files larger than a gibibyte', script: 'dd if=/dev/zero of=large bs=1 count=1 seek=1073741825', slow: true },
  {
    name: 'a /tmp larger than 256 MiB',
    script: 'dd if=/dev/zero of=/tmp/large bs=1M count=300; code=$?; rm -f /tmp/large; exit $code',
    slow: true,
  },
  {
    name: `more than ${MAX_TASKS} processes`,
    script: `mkfifo /tmp/gate && exec 5<>/tmp/gate
count=0
while [ $count -lt ${MAX_TASKS + 52} ]; do (read line <&5) & count=$((count + 1)); done
exit 0`,
    slow: true,
    explain: () =>
      process.getuid?.() === 0 && openTaskGroup() === undefined
        ? 'only a cgroup limits the processes of root, and no cgroup can be created here'
        : undefined,
  },
]

/** Login files of programs, relative to the home. */
const LOGINS = [
  ['Codex', '.codex/auth.json'],
  ['Claude', '.claude/.credentials.json'],
  ['Gemini', '.gemini/oauth_creds.json'],
  ['opencode', '.local/share/opencode/auth.json'],
  ['Copilot', '.config/github-copilot/apps.json'],
  ['Copilot CLI', '.copilot/config.json'],
  ['cargo', '.cargo/credentials.toml'],
  ['vault', '.vault-token'],
  ['rclone', '.config/rclone/rclone.conf'],
  ['PostgreSQL', '.pgpass'],
  ['SSH', '.ssh/id'],
  ['npm', '.npmrc'],
] as const
export const LOGIN_FILES = LOGINS.map(([, path]) => path)

/** Tests in a workspace outside the home. */
export const LOGIN_TESTS: readonly SandboxTest[] = LOGINS.map(([who, path]) => ({
  name: `reading the login of ${who}`,
  script: `cat "$OUTSIDE_HOME/${path}" || cat ~/${path}`,
}))

/** Tests in a workspace that is the home. */
export const HOME_TESTS: readonly SandboxTest[] = [
  ...LOGINS.map(([who, path]) => {
    const [first, ...rest] = path.split('/')
    return {
      name: `reading the login of ${who} where the home is the workspace`,
      script: `cat ${path} || { mv ${first} elsewhere && cat ${['elsewhere', ...rest].join('/')}; }`,
    }
  }),
  {
    name: 'writing keys where the home is the workspace',
    script: ': >.ssh/authorized_keys && [ -s .ssh/id ] || mv .ssh elsewhere',
  },
  { name: 'writing shell start files', script: '{ : >>.bashrc; } || mv .bashrc elsewhere' },
]

/** Returns one shell text that runs all tests and prints `open <n>` for each act that was possible, then `done`. */
export const createTestScript = (tests: readonly SandboxTest[]): string =>
  [
    ...tests.map(({ script }, index) => `(${script}) >/dev/null 2>&1 </dev/null && echo "open ${index}"`),
    'echo done',
  ].join('\n')
