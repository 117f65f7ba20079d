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
  pathOf,
  readSkill,
  resourcesOf,
  unknownSkill,
  insertArguments,
  type PromptPart,
} from './lib/skills/index.js'

const longest = 256 * 1024

/** `load_skill`: instructions, resources and tools of a skill. Grants nothing and runs nothing. */
export default (async ({ input: { name, arguments: given = '' }, caller }, context) => {
  const skill = findSkill(name, context, caller)
  if (!skill) return unknownSkill(name, context)
  try {
    using folder = openFolder(skill, context)
    const read = await readSkill(skill, folder)
    if ('ok' in read) return read
    const { text } = read
    // Only a person who calls a command by its name has done what stands in it.
    const isCommand = caller.surface === 'prompt' && skill.body !== undefined
    const body = isCommand
      ? await carriedOut(parsePromptParts(skill, read.body, given), context)
      : insertArguments(read.body, skill, given)
    if (typeof body !== 'string') return body
    if (Buffer.byteLength(body) > longest)
      return fail('VT_SKILL_INVALID', `The instructions of ${skill.id} are longer than ${longest / 1024} KiB.`)

    const loaded = getLoadedSkills(context.session)
    const already_loaded = loaded.has(skill.id)
    loaded.add(skill.id)
    const here = pathOf(skill.folder, context.workspace)
    const instructions = body.replace(/\$\{(?:CLAUDE_)?SKILL_DIR\}/g, () => here)
    const resources = await resourcesOf(skill, folder)
    const activation = await activate(skill, resources, context)
    // What a skill brings ends with its session, and each call of the command line is one.
    const isAlone = caller.surface === 'call'
    const tools_added = activation.active.flatMap(({ slot }) => slot ?? []).sort()
    const output = {
      name: skill.name,
      description: text.description,
      instructions,
      path: pathOf(skill.file, context.workspace),
      scope: skill.scope,
      already_loaded,
      resources,
      tools_added,
      ...optionalFields(text),
    }
    const notices = [...noticesOf(isCommand ? '' : read.body, activation), ...(isAlone ? lostTools(tools_added) : [])]
    const rendered = wrap({ ...output, tools_added: isAlone ? [] : tools_added }, here)
    return ok(output, { text: rendered, ...(notices.length > 0 && { notices }) })
  } catch (error) {
    // It was there when the skills were looked for.
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return unknownSkill(name, context)
    throw error
  }
}) satisfies Handler<{ name: string; arguments?: string }>

async function activate(skill: Skill, resources: string[], { host, session }: Context): Promise<SkillActivation> {
  const brings = resources.some((path) => /^vtcode(?:\.ya?ml|\.json|\/.*)$/.test(path))
  return brings ? host.bring(skill, session) : { active: [], left: [] }
}

type Skill = Parameters<Context['host']['bring']>[0]

const optionalFields = ({
  allowed_tools,
  compatibility,
}: {
  allowed_tools: readonly string[]
  compatibility?: string | undefined
}) => ({
  ...(allowed_tools.length > 0 && { allowed_tools }),
  ...(compatibility !== undefined && { compatibility }),
})

const largest = 64 * 1024

/** Runs the parts of a command as ordinary calls and joins their texts; the first refusal ends it. */
async function carriedOut(parts: PromptPart[], context: Context): Promise<string | Result> {
  const texts: string[] = []
  for (const part of parts) {
    if ('text' in part) {
      texts.push(part.text)
      continue
    }
    if ('run' in part) {
      const result = await context.call('unified_exec', { action: 'run', command: part.run })
      if (!result.ok) return result
      texts.push(printed(result.output as unknown as Ran).slice(0, largest))
    } else {
      const result = await context.call('unified_file', { action: 'read', path: part.read })
      const missing = !result.ok && ['VT_PATH_NOT_FOUND', 'VT_PATH_IS_DIRECTORY'].includes(result.error.code)
      if (!result.ok && !missing) return result
      texts.push(
        result.ok ? String(result.output['content'] ?? successText(result)).slice(0, largest) : `@${part.read}`,
      )
    }
  }
  return texts.join('')
}

interface Ran {
  stdout?: string
  stderr?: string
  output?: string
  exit_code: number | null
}
const printed = ({ stdout = '', stderr = '', output = '', exit_code }: Ran): string =>
  `${[stdout, output, stderr]
    .map((text) => text.trimEnd())
    .filter(Boolean)
    .join('\n')}${exit_code === 0 ? '' : `\n(exit code ${exit_code ?? 'none'})`}`

const lostTools = (tools: string[]): Notice[] =>
  tools.length === 0
    ? []
    : [
        {
          code: 'VT_SKILL_ONE_CALL',
          message: `The skill brings ${tools.join(', ')}, for its session only, and each \`vtcode call\` is one of its own: they can be called in \`vtcode chat\`, \`vtcode exec\` and over MCP.`,
        },
      ]

interface Loaded {
  name: string
  instructions: string
  resources: string[]
  tools_added: string[]
  compatibility?: string
}

function wrap({ name, instructions, resources, tools_added, compatibility }: Loaded, folder: string): string {
  const tools = tools_added.length === 0 ? '' : `Tools that can be called now: ${tools_added.join(', ')}\n`
  const needs = compatibility === undefined ? '' : `Needs: ${compatibility}\n`
  const listed = resources.length === 0 ? '' : `\n${block('skill_resources', resources.map(visibleLine).join('\n'))}`
  return block(
    'skill_content',
    `${trimEndChars(instructions, '\n')}\n${needs}${tools}Skill directory: ${visibleLine(folder)}${listed}`,
    { name },
  )
}

/** What the skill would have had other programs do, and what of its tools was left out. */
function noticesOf(body: string, { left }: SkillActivation): Notice[] {
  const notices: Notice[] = []
  if (/(?:^|\s)!`[^`\n]+`|^```!|(?:^|\s)!\{[^}\n]+\}/m.test(body))
    notices.push({
      code: 'VT_SKILL_COMMAND_NOT_RUN',
      message: 'The instructions hold commands marked with !; they are shown as text and were not run.',
    })
  const [untrusted, others] = [
    left.filter(({ state }) => state === 'untrusted'),
    left.filter(({ state }) => state !== 'untrusted'),
  ]
  const names = (some: SkillActivation['left']) =>
    some
      .slice(0, most)
      .map(({ id, slot }) => slot ?? id)
      .join(', ')
  if (untrusted.length > 0)
    notices.push({
      code: 'VT_SKILL_UNTRUSTED',
      message: `Left out until the user agrees with \`vtcode trust\` and the skill is loaded again: ${names(untrusted)}.`,
    })
  for (const { id, reason = '' } of others.slice(0, most))
    notices.push({ code: 'VT_SKILL_LEFT_OUT', message: `${id} takes no part: ${reason}` })
  return notices
}

const most = 10
