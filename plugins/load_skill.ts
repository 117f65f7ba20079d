import {
  block,
  fail,
  ok,
  visibleLine,
  VtError,
  type Context,
  type SkillActivation,
  type Handler,
  type Notice,
  type Result,
} from '../core/index.js'
import { successText, trimEndChars } from './lib/base/index.js'
import {
  parsePromptParts,
  findSkill,
  getLoadedSkills,
  openFolder,
  toCallerPath,
  readSkill,
  listSkillResources,
  unknownSkill,
  insertArguments,
  type PromptPart,
} from './lib/skills/index.js'

const MAX_INSTRUCTIONS_BYTES = 256 * 1024

/** `load_skill`: returns instructions, resources and tools of a skill. Grants nothing and runs nothing. */
export default (async ({ input: { name, arguments: given = '' }, caller }, context) => {
  const skill = findSkill(name, context, caller)
  if (!skill) return unknownSkill(name, context)
  try {
    using folder = openFolder(skill, context)
    const read = await readSkill(skill, folder)
    if ('ok' in read) return read
    const { text } = read
    // Only a person who calls a command by name has agreed to its contents.
    const isCommand = caller.surface === 'prompt' && skill.body !== undefined
    const body = isCommand
      ? await runParts(parsePromptParts(skill, read.body, given), context)
      : insertArguments(read.body, skill, given)
    if (typeof body !== 'string') return body
    if (Buffer.byteLength(body) > MAX_INSTRUCTIONS_BYTES)
      return fail(
        'VT_SKILL_INVALID',
        `The instructions of ${skill.id} are longer than ${MAX_INSTRUCTIONS_BYTES / 1024} KiB.`,
      )

    const loaded = getLoadedSkills(context.session)
    const already_loaded = loaded.has(skill.id)
    loaded.add(skill.id)
    const here = toCallerPath(skill.folder, context.workspace)
    const instructions = body.replace(/\$\{(?:CLAUDE_)?SKILL_DIR\}/g, () => here)
    const resources = await listSkillResources(skill, folder)
    const activation = await activate(skill, resources, context)
    // The tools of a skill end with its session, and each `vtcode call` is a session of its own.
    const isAlone = caller.surface === 'call'
    const tools_added = activation.active.flatMap(({ slot }) => slot ?? []).sort()
    const output = {
      name: skill.name,
      description: text.description,
      instructions,
      path: toCallerPath(skill.file, context.workspace),
      scope: skill.scope,
      already_loaded,
      resources,
      tools_added,
      ...toOptionalFields(text),
    }
    const notices = [
      ...createNotices(isCommand ? '' : read.body, activation),
      ...(isAlone ? describeLostTools(tools_added) : []),
    ]
    const rendered = renderContent({ ...output, tools_added: isAlone ? [] : tools_added }, here)
    return ok(output, { text: rendered, ...(notices.length > 0 && { notices }) })
  } catch (error) {
    // The file existed when the skills were listed.
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return unknownSkill(name, context)
    throw error
  }
}) satisfies Handler<{ name: string; arguments?: string }>

async function activate(skill: Skill, resources: string[], { host, session }: Context): Promise<SkillActivation> {
  const hasPlugin = resources.some((path) => /^vtcode(?:\.ya?ml|\.json|\/.*)$/.test(path))
  return hasPlugin ? host.activateSkill(skill, session) : { active: [], inactive: [] }
}

type Skill = Parameters<Context['host']['activateSkill']>[0]

const toOptionalFields = ({
  allowed_tools,
  compatibility,
}: {
  allowed_tools: readonly string[]
  compatibility?: string | undefined
}) => ({
  ...(allowed_tools.length > 0 && { allowed_tools }),
  ...(compatibility !== undefined && { compatibility }),
})

const MAX_PART_CHARS = 64 * 1024

/** Runs the parts of a command as ordinary calls and joins their texts; ends at the first refusal. */
async function runParts(parts: PromptPart[], context: Context): Promise<string | Result> {
  const texts: string[] = []
  for (const part of parts) {
    if ('text' in part) {
      texts.push(part.text)
      continue
    }
    if ('run' in part) {
      const result = await context.call('unified_exec', { action: 'run', command: part.run })
      if (!result.ok) return result
      texts.push(shortenPart(formatOutput(result.output as unknown as ProgramOutput)))
    } else {
      const result = await context.call('unified_file', { action: 'read', path: part.read })
      const missing = !result.ok && ['VT_PATH_NOT_FOUND', 'VT_PATH_IS_DIRECTORY'].includes(result.error.code)
      if (!result.ok && !missing) return result
      texts.push(result.ok ? shortenPart(String(result.output['content'] ?? successText(result))) : `@${part.read}`)
    }
  }
  return texts.join('')
}

const shortenPart = (text: string): string =>
  text.length <= MAX_PART_CHARS
    ? text
    : `${text.slice(0, MAX_PART_CHARS)}\n[${text.length - MAX_PART_CHARS} characters left out]`

interface ProgramOutput {
  stdout?: string
  stderr?: string
  output?: string
  exit_code: number | null
}
const formatOutput = ({ stdout = '', stderr = '', output = '', exit_code }: ProgramOutput): string =>
  `${[stdout, output, stderr]
    .map((text) => text.trimEnd())
    .filter(Boolean)
    .join('\n')}${exit_code === 0 ? '' : `\n(exit code ${exit_code ?? 'none'})`}`

const describeLostTools = (tools: string[]): Notice[] =>
  tools.length === 0
    ? []
    : [
        {
          code: 'VT_SKILL_ONE_CALL',
          message:
            `The tools ${tools.join(', ')} of the skill last for its session, and each \`vtcode call\` is a session. ` +
            'Call them in `vtcode chat`, `vtcode exec` or over MCP.',
        },
      ]

interface Loaded {
  name: string
  instructions: string
  resources: string[]
  tools_added: string[]
  compatibility?: string
}

function renderContent({ name, instructions, resources, tools_added, compatibility }: Loaded, folder: string): string {
  const tools = tools_added.length === 0 ? '' : `Tools that can be called now: ${tools_added.join(', ')}\n`
  const needs = compatibility === undefined ? '' : `Needs: ${compatibility}\n`
  const listed = resources.length === 0 ? '' : `\n${block('skill_resources', resources.map(visibleLine).join('\n'))}`
  return block(
    'skill_content',
    `${trimEndChars(instructions, '\n')}\n${needs}${tools}Skill directory: ${visibleLine(folder)}${listed}`,
    { name },
  )
}

/** Returns notices about commands that were not run, and about tools that were left out. */
function createNotices(body: string, { inactive }: SkillActivation): Notice[] {
  const notices: Notice[] = []
  if (/(?:^|\s)!`[^`\n]+`|^```!|(?:^|\s)!\{[^}\n]+\}/m.test(body))
    notices.push({
      code: 'VT_SKILL_COMMAND_NOT_RUN',
      message: 'The instructions hold commands marked with !; they are shown as text and were not run.',
    })
  const [untrusted, others] = [
    inactive.filter(({ state }) => state === 'untrusted'),
    inactive.filter(({ state }) => state !== 'untrusted'),
  ]
  const names = (some: SkillActivation['inactive']) =>
    some
      .slice(0, MAX_LISTED)
      .map(({ id, slot }) => slot ?? id)
      .join(', ')
  if (untrusted.length > 0)
    notices.push({
      code: 'VT_SKILL_UNTRUSTED',
      message:
        `Left out without consent: ${names(untrusted)}. ` +
        'The user can agree with `vtcode trust`; then load the skill again.',
    })
  for (const { id, reason = '' } of others.slice(0, MAX_LISTED))
    notices.push({ code: 'VT_SKILL_LEFT_OUT', message: `${id} is left out: ${reason}` })
  return notices
}

const MAX_LISTED = 10
