/** The words of a wrapper before its command. */
export interface Wrapper {
  /** Letters of options that take the next word as their value. */
  valued?: string
  long?: string[]
  /** Number of words before the command. */
  positional?: number
  /** `NAME=value` words may come before the command. */
  assigns?: true
  /** A shell reads the words of the command as one text. */
  joins?: true
  /** Without a command of its own it reads commands from its input. */
  fed?: true
  /** An option whose value a shell reads as a text. */
  script?: RegExp
}

/** All words belong to the wrapper itself. */
export const EVERY = 99
const USER = {
  valued: 'gGsuwp',
  long: ['user', 'group', 'supp-group', 'shell', 'whitelist-environment'],
  script: /^(-\w*c|--(session-)?command)$/,
}
export const WRAPPERS: Record<string, Wrapper> = {
  env: { valued: 'uC', long: ['unset', 'chdir'], assigns: true },
  command: {},
  builtin: {},
  exec: { valued: 'a' },
  nohup: {},
  nice: { valued: 'n', long: ['adjustment'] },
  ionice: { valued: 'cnpPu', long: ['class', 'classdata'] },
  chrt: { valued: 'TPDp', positional: 1 },
  taskset: { positional: 1 },
  setsid: {},
  timeout: { valued: 'ks', long: ['kill-after', 'signal'], positional: 1 },
  time: { valued: 'fo', long: ['format', 'output'] },
  stdbuf: { valued: 'ioe', long: ['input', 'output', 'error'] },
  unbuffer: {},
  xargs: {
    valued: 'adEILnPs',
    long: ['arg-file', 'delimiter', 'max-lines', 'max-args', 'max-procs', 'max-chars', 'replace', 'process-slot-var'],
    fed: true,
  },
  sudo: { valued: 'CDghpRrTtUu', long: ['user', 'group', 'chdir', 'host', 'prompt', 'role', 'type'], assigns: true },
  doas: { valued: 'Cu' },
  pkexec: { long: ['user'] },
  su: { ...USER, positional: EVERY },
  runuser: USER,
  setpriv: {
    long: ['reuid', 'regid', 'groups', 'inh-caps', 'ambient-caps', 'bounding-set', 'securebits', 'pdeathsig', 'rlimit'],
  },
  script: {
    valued: 'EIOBTmo',
    long: ['log-in', 'log-out', 'log-io', 'log-timing', 'logging-format', 'output-limit'],
    positional: EVERY,
    script: /^(-\w*c|--command)$/,
  },
  watch: { valued: 'nq', long: ['interval'], joins: true },
  flock: { valued: 'wE', long: ['timeout', 'conflict-exit-code'], positional: 1, script: /^(-c|--command)$/ },
  chroot: { positional: 1 },
  unshare: { valued: 'SGRw', long: ['root', 'wd', 'setuid', 'setgid', 'map-user', 'map-group'] },
  nsenter: { valued: 'tSG', long: ['target', 'setuid', 'setgid'] },
  strace: { valued: 'abeEIoOpPsSuUX' },
  ltrace: { valued: 'aeFlnopsuwxX' },
  prlimit: {},
  setarch: { positional: 1 },
  choom: { valued: 'np' },
  numactl: { valued: 'miNCpl' },
  'start-stop-daemon': {
    valued: 'npugcsdRkP',
    long: ['pidfile', 'user', 'chdir'],
    script: /^(-[xa]|--exec|--startas)$/,
  },
  'systemd-run': { valued: 'pEtu', long: ['unit', 'property', 'setenv'] },
  'dbus-run-session': {},
  'ssh-agent': { valued: 'aEtP' },
  fakeroot: { valued: 'lfsib' },
  rlwrap: {},
  valgrind: {},
  parallel: { valued: 'jSaIN', long: ['jobs', 'arg-file', 'delimiter', 'colsep'], joins: true, fed: true },
  entr: { joins: true },
  chronic: {},
  ifne: {},
  watchexec: { valued: 'ewirs', long: ['exts', 'watch', 'ignore'], joins: true },
  'xvfb-run': { valued: 'enfpsw', long: ['server-num', 'server-args', 'error-file'] },
  eatmydata: {},
  firejail: {},
  torsocks: {},
  proxychains: { valued: 'f' },
  proxychains4: { valued: 'f' },
  sshpass: { valued: 'fdpP' },
  faketime: { valued: 'f', positional: 1 },
  perf: { positional: 1, valued: 'eorcpt', long: ['event', 'output'] },
  busybox: {},
  toybox: {},
}
/** Programs under another name. */
export const ALIASES: Record<string, string> = {
  gtimeout: 'timeout',
  genv: 'env',
  gxargs: 'xargs',
  linux32: 'nohup',
  linux64: 'nohup',
  catchsegv: 'nohup',
  'ld.so': 'nohup',
}
