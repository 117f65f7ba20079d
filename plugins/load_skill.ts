import { fail, ok, VtError, type Handler, type Notice } from '../core/index.js'
import { findSkill, loadedIn, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './shared/skills.js'

const longest = 256 * 1024

/** `load_skill`: the instructions of a skill, with the names of its resources. Reading grants nothing and runs nothing. */
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
    const output = {
      name: skill.name,
      description: text.description,
      instructions,
      path: pathOf(skill.file, context.workspace),
      scope: skill.scope,
      already_loaded,
      resources,
      tools_added: [],
      ...(text.allowed_tools.length > 0 && { allowed_tools: text.allowed_tools }),
      ...(text.compatibility !== undefined && { compatibility: text.compatibility }),
    }
    const notices = noticesOf(body, resources, here)
    return ok(output, { text: wrap(output, here), ...(notices.length > 0 && { notices }) })
  } catch (error) {
    // It was there when the skills were looked for.
    if (error instanceof VtError && error.code === 'VT_PATH_NOT_FOUND') return unknownSkill(name, context)
    throw error
  }
}) satisfies Handler<{ name: string }>

function wrap({ name, instructions, resources, compatibility }: { name: string; instructions: string; resources: string[]; compatibility?: string }, folder: string): string {
  const needs = compatibility === undefined ? '' : `Needs: ${compatibility}\n`
  const listed = resources.length === 0 ? '' : `<skill_resources>\n${resources.join('\n')}\n</skill_resources>\n`
  return `<skill_content name="${name}">\n${instructions.replace(/\n*$/, '\n')}${needs}Skill directory: ${folder}\n${listed}</skill_content>`
}

/** What the skill would have had other programs do. */
function noticesOf(body: string, resources: string[], folder: string): Notice[] {
  const notices: Notice[] = []
  if (/(?:^|\s)!`[^`\n]+`|^```!/m.test(body)) notices.push({ code: 'VT_SKILL_COMMAND_NOT_RUN', message: 'The instructions hold commands marked with !; they are shown as text and were not run.' })
  const tools = resources.filter((path) => /^vtcode(?:\.ya?ml|\.json|\/.*)$/.test(path))
  if (tools.length > 0) {
    const way = `the user adds ${folder} under manifests in the settings and agrees with \`vtcode trust\``
    notices.push({ code: 'VT_SKILL_UNTRUSTED', message: `The tools of ${tools.slice(0, 3).join(', ')} were left out; ${way}.` })
  }
  return notices
}
