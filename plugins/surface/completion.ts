import { MODES } from '../../core/config/index.js'
import { openWorkspace, type Io, type JsonObject, type Kernel } from '../../core/index.js'
import { readHelpText, runCommand, createVerb } from '../lib/terminal/index.js'

// Each script calls the program at every Tab to get the current tools, sessions and skills.
const scripts = {
  bash: `_vtcode() {
  local IFS=$'\\n'
  local found=$(vtcode completion --complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
  COMPREPLY=($(compgen -W "$found" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _vtcode vtcode
`,
  zsh: `#compdef vtcode
_vtcode() {
  local -a found
  found=("\${(@f)$(vtcode completion --complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}")
  (( \${#found[1]} )) && compadd -a found || _files
}
compdef _vtcode vtcode
`,
  fish:
    "complete -c vtcode -a '(vtcode completion --complete -- (commandline -opc)[2..-1] (commandline -ct) " +
    "2>/dev/null)'\n",
}
const HELP_TEXT =
  'Print the completion script of a shell. In ~/.bashrc: eval "$(vtcode completion bash)"; in ~/.zshrc: the same ' +
  'with zsh; for fish: vtcode completion fish >~/.config/fish/completions/vtcode.fish.'
type Shell = keyof typeof scripts

/** Runs `vtcode completion`: prints the script of a shell, or the words that the script asks for. */
export default async function completion(kernel: Kernel, argv: string[], io: Io): Promise<number> {
  if (argv[0] === '--complete') {
    const words = argv.slice(argv.indexOf('--') + 1)
    const partial = words.at(-1) ?? ''
    const found = await findCandidates(kernel, words.slice(0, -1), partial, io)
    // The shell splits these words again, so words with shell syntax are left out.
    io.stdout.write(
      [...new Set(found)]
        .filter((word) => /^[\w.:@/=-]+$/.test(word) && word.startsWith(partial))
        .map((word) => `${word}\n`)
        .join(''),
    )
    return 0
  }
  const command = createVerb('completion', HELP_TEXT, io)
  command
    .addArgument(command.createArgument('<shell>').choices(Object.keys(scripts)))
    .action((shell: Shell) => void io.stdout.write(scripts[shell]))
  return runCommand(command, argv, () => 0)
}

const programFlags = [
  '--workspace',
  '--mode',
  '--config',
  '--home',
  '--allowed-tools',
  '--disallowed-tools',
  '--verbose',
  '--log-level',
  '--quiet',
  '--no-color',
  '--version',
  '--help',
]

/** Returns candidates after `before`; the caller keeps those that begin with `partial`. */
async function findCandidates(kernel: Kernel, before: readonly string[], partial: string, io: Io): Promise<string[]> {
  const last = before.at(-1)
  if (last === '--mode') return [...MODES]
  const words = dropProgramFlags(before)
  const [name, ...rest] = words
  if (name === undefined) return partial.startsWith('-') ? programFlags : listVerbs(kernel)
  if (name === 'help') return listVerbs(kernel)
  if (name === 'call') return completeCall(kernel, rest, partial)
  if (last === '--resume' || last === '--session' || name === 'resume' || (name === 'sessions' && rest.length === 1)) {
    const ids = await listSessionIds(kernel)
    if (!partial.startsWith('-')) return ids
  }
  if (name === 'tools') return kernel.list().flatMap(({ tool, slot }) => [tool, slot])
  if (name === 'skills' && rest[0] === 'show') return kernel.inspection.skills().all.map(({ name: skill }) => skill)
  return completeFromHelp(kernel, name, partial, io)
}

/** Drops the flags of the program. A flag without `=` takes the next word as its value, unless it is a switch. */
function dropProgramFlags(words: readonly string[]): string[] {
  const remaining: string[] = []
  for (let at = 0; at < words.length; at++) {
    const word = words[at]!
    if (remaining.length > 0 || !word.startsWith('-')) remaining.push(word)
    else if (!/=|^--(verbose|quiet|no-color)$/.test(word)) at += 1
  }
  return remaining
}

const listVerbs = (kernel: Kernel): string[] =>
  kernel.inspection
    .contributions()
    .flatMap(({ kind, state, verb: name }) => (kind === 'surface' && state === 'active' && name ? [name] : []))

/** Completes one word of `vtcode call`: a tool, its action, a field that is not given yet, or a choice of a field. */
function completeCall(kernel: Kernel, words: string[], partial: string): string[] {
  const slots = kernel.list()
  const at = words.findIndex((word, index) => !word.startsWith('-') && words[index - 1] !== '--session')
  const [tool, ...rest] = at < 0 ? [] : words.slice(at)
  if (tool === undefined)
    return partial.startsWith('-')
      ? ['--json', '--text', '--session', '--help', ...programFlags]
      : slots.map((slot) => slot.tool)
  const own = slots.filter((slot) => slot.tool === tool)
  const slot = own.length === 1 && own[0]!.action === undefined ? own[0] : own.find(({ action }) => action === rest[0])
  if (!slot) return own.flatMap(({ action }) => (action === undefined ? [] : [action]))
  const fields = (slot.input['properties'] ?? {}) as Record<string, JsonObject>
  const choices = fields[rest.at(-1)?.replace(/^--/, '') ?? '']?.['enum']
  if (Array.isArray(choices)) return choices.map(String)
  return [
    ...Object.keys(fields)
      .map((name) => `--${name}`)
      .filter((name) => !rest.includes(name)),
    '--input',
    '--help',
  ]
}

async function listSessionIds(kernel: Kernel): Promise<string[]> {
  const { listSessions } = await import('../agent/cli/index.js')
  const workspace = openWorkspace(kernel.workspace, kernel.inspection)
  try {
    return (await listSessions(workspace)).map(({ session_id }) => session_id)
  } finally {
    workspace.close()
  }
}

/** Reads the flags and sub-commands from the help of a verb. */
async function completeFromHelp(kernel: Kernel, name: string, partial: string, io: Io): Promise<string[]> {
  const text = await readHelpText(kernel, name, io)
  const flags = [...text.matchAll(/(?<![\w-])--[a-z][\w-]*/g)].map(([flag]) => flag)
  const commands = [
    ...(/^Commands:\n([\s\S]*?)(?:\n\n|(?![\s\S]))/m.exec(text)?.[1] ?? '').matchAll(/^ {2}([a-z][\w-]*)/gm),
  ].map(([, word]) => word!)
  return partial.startsWith('-') || commands.length === 0 ? flags : commands
}
