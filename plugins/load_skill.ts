import { block, fail, ok, visibleLine, VtError, type SkillActivation, type Handler, type Notice } from '../core/index.js'
import { withoutEnd } from './lib/base/index.js'
import { findSkill, loadedIn, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './lib/skills/index.js'

const longest = 256 * 1024

/** `load_skill`: the instructions of a skill, with the names of its resources, and the tools it brings. Reading grants nothing and runs nothing. */
export default (async ({ input: { name }, caller }, context) => {
  const skill = findSkill(name, context, caller)
  if (!skill) return unknownSkill(name, context)
  try {
    using folder = openFolder(skill, context)
    const read = await readSkill(skill, folder)
    if ('ok' in read) return read
    const { text, body } = read
    if (Buffer.byteLength(body) > longest) return fail('VT_SKILL_INVALID', `The instructions of ${skill.id} are longer than ${longest / 1024} KiB.`)

    const loaded = loadedIn(context.session)
    const already_loaded = loaded.has(skill.id)
    loaded.add(skill.id)
    const here = pathOf(skill.folder, context.workspace)
    const instructions = body.replace(/\$\{(?:CLAUDE_)?SKILL_DIR\}/g, () => here)
    const resources = await resourcesOf(skill, folder)
    const brings = resources.some((path) => /^vtcode(?:\.ya?ml|\.json|\/.*)$/.test(path))
    const activation = brings ? await context.host.bring(skill, context.session) : { active: [], left: [] }
    // What a skill brings ends with its session, and each call of the command line is one.
    const isAlone = caller.surface === 'call'
    const output = {
      name: skill.name,
      description: text.description,
      instructions,
      path: pathOf(skill.file, context.workspace),
      scope: skill.scope,
      already_loaded,
      resources,
      tools_added: activation.active.flatMap(({ slot }) => slot ?? []).sort(),
      ...(text.allowed_tools.length > 0 && { allowed_tools: text.allowed_tools }),
      ...(text.compatibility !== undefined && { compatibility: text.compatibility }),
    }
    const notices = [...noticesOf(body, activation), ...(isAlone && output.tools_added.length > 0 ? [oneCall(output.tools_added)] : [])]
    return ok(output, { text: wrap(isAlone ? { ...output, tools_added: [] } : output, here), ...(notices.length > 0 && { notices }) })
  } catch (error) {
    // It was there when the skills were looked for.
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return unknownSkill(name, context)
    throw error
  }
}) satisfies Handler<{ name: string }>

const oneCall = (tools: string[]): Notice => ({
  code: 'VT_SKILL_ONE_CALL',
  message: `The skill brings ${tools.join(', ')}, for its session only, and each \`vtcode call\` is one of its own: they can be called in \`vtcode chat\`, \`vtcode exec\` and over MCP.`,
})

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
  return block('skill_content', `${withoutEnd(instructions, '\n')}\n${needs}${tools}Skill directory: ${visibleLine(folder)}${listed}`, { name })
}

/** What the skill would have had other programs do, and what of its tools was left out. */
function noticesOf(body: string, { left }: SkillActivation): Notice[] {
  const notices: Notice[] = []
  if (/(?:^|\s)!`[^`\n]+`|^```!/m.test(body)) notices.push({ code: 'VT_SKILL_COMMAND_NOT_RUN', message: 'The instructions hold commands marked with !; they are shown as text and were not run.' })
  const [untrusted, others] = [left.filter(({ state }) => state === 'untrusted'), left.filter(({ state }) => state !== 'untrusted')]
  const names = (some: SkillActivation['left']) => some.slice(0, most).map(({ id, slot }) => slot ?? id).join(', ')
  if (untrusted.length > 0) notices.push({ code: 'VT_SKILL_UNTRUSTED', message: `Left out until the user agrees with \`vtcode trust\` and the skill is loaded again: ${names(untrusted)}.` })
  for (const { id, reason = '' } of others.slice(0, most)) notices.push({ code: 'VT_SKILL_LEFT_OUT', message: `${id} takes no part: ${reason}` })
  return notices
}

const most = 10
