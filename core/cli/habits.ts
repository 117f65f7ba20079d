/** Flags of other programs, with our words for them. */
const FLAGS: Readonly<Record<string, string>> = {
  '-p': '`vtcode exec "<task>"` does a task and prints the answer; `vtcode ask "<question>"` only reads.',
  '-m': 'Write --model <provider>/<model>.',
  '-r': '`vtcode resume` lists sessions to continue; `vtcode chat --resume <id>` continues one.',
  '-C': 'Write --workspace <folder>.',
  '-y': '`--mode auto` makes edits and known commands without a question; `--mode full-auto` asks nothing.',
  '-s': 'The sandbox is a setting: `vtcode config set sandbox.mode required`.',
}
const SAME_FLAGS: Readonly<Record<string, string>> = {
  '--print': '-p',
  '--prompt': '-p',
  '--message': '-p',
  '--cd': '-C',
  '--cwd': '-C',
  '--dir': '-C',
  '--yolo': '-y',
  '--yes': '-y',
  '--full-auto': '-y',
  '--auto-approve': '-y',
  '--dangerously-skip-permissions': '-y',
  '--dangerously-bypass-approvals-and-sandbox': '-y',
  '--allow-all-tools': '-y',
  '--sandbox': '-s',
}
const WORDS: Readonly<Record<string, string>> = {
  login:
    'Set the key of a provider in the environment, or run `vtcode models login <provider>`; `vtcode init` finds both.',
  run: '`vtcode exec "<task>"` does a task; `vtcode call <tool>` calls one tool.',
  continue: '`vtcode --continue` continues the last chat, `vtcode resume` lists sessions.',
  history: '`vtcode sessions list` lists sessions, `vtcode undo --list` lists changes.',
  settings: '`vtcode config` shows the settings, `vtcode config set <key> <value>` changes one.',
  update: 'Run npm install -g vtcode@latest.',
  version: '`vtcode --version` prints the version.',
  rewind: '`vtcode revert` restores files; /rewind in a chat goes back to before a message.',
  install: '`vtcode plugins add <plugin>` installs a plugin, `vtcode dependencies install` the optional programs.',
  serve: '`vtcode mcp --http` serves the tools over HTTP.',
  permissions: '`vtcode policy list` shows the rules; /permissions in a chat does too.',
}
const SAME_WORDS: Readonly<Record<string, string>> = {
  auth: 'login',
  logout: 'login',
  'setup-token': 'login',
  task: 'run',
  prompt: 'run',
  upgrade: 'update',
  log: 'history',
  preferences: 'settings',
  server: 'serve',
  add: 'install',
}

const find = (word: string, texts: Readonly<Record<string, string>>, same: Readonly<Record<string, string>>) => {
  const name = Object.hasOwn(same, word) ? same[word]! : word
  return Object.hasOwn(texts, name) ? texts[name] : undefined
}

/** Returns our words for a flag of other programs; `undefined` for any other flag. */
export const explainFlagHabit = (flag: string): string | undefined => find(flag, FLAGS, SAME_FLAGS)
/** Returns our words for a verb of other programs; `undefined` for any other word. */
export const explainVerbHabit = (verb: string): string | undefined => find(verb, WORDS, SAME_WORDS)
