import { fail, type Call, type Handler, type JsonObject, type Next, type Result } from '../core/index.js'
import { readFile, type ReadInput } from './lib/reading/index.js'
import { findSkill, getLoadedSkills, openFolder, unknownSkill } from './lib/skills/index.js'

type Input = Omit<ReadInput, 'path'> & { skill_name: string; resource_path: string; response_format?: string }

/** `load_skill_resource`: reads a file of a loaded skill in the pages of `unified_file/read`. */
export default (async (call, context) => {
  const { skill_name, resource_path } = call.input
  const skill = findSkill(skill_name, context, call.caller)
  if (!skill) return unknownSkill(skill_name, context)
  // Each `vtcode call` is a session, so it cannot have loaded the skill.
  if (call.caller.surface !== 'call' && !getLoadedSkills(context.session).has(skill.id)) {
    return fail('VT_SKILL_NOT_LOADED', `The skill '${skill_name}' is not loaded.`, {
      next: { tool: 'load_skill', input: { name: skill_name } },
    })
  }
  using folder = openFolder(skill, context)
  // Opens the file first: links may lead only within the skill.
  await (await folder.open(resource_path)).close()
  const { skill_name: _, resource_path: __, ...paging } = call.given
  const path = folder.at(resource_path)
  const result =
    folder.inside === undefined
      ? await readFile(toReadCall(call, path, paging), {
          workspace: folder.workspace,
          signal: context.signal,
          reads: { remember() {} },
        })
      : await context.call('unified_file', { action: 'read', path, ...paging })
  return toResourceResult(result, call.input, path)
}) satisfies Handler<Input>

const toReadCall = (call: Call<Input>, path: string, paging: Readonly<JsonObject>): Call<ReadInput> => ({
  ...call,
  input: { ...paging, path },
  given: { ...paging, path },
})

/** Converts the result to names of the skill, with a `next` that reads on in the same way. */
function toResourceResult(result: Result, { skill_name, resource_path }: Input, path: string): Result {
  const renameNext = (next: Next | undefined): Next | undefined => {
    if (next?.tool !== 'unified_file' || next.input['path'] !== path) return next
    const { action, path: _, ...paging } = next.input
    return { tool: 'load_skill_resource', input: { skill_name, resource_path, ...paging } }
  }
  if (!result.ok) {
    const next = renameNext(result.error.next)
    return { ...result, error: { ...result.error, ...(next && { next }) } }
  }
  const next = renameNext(result.output['next'] as Next | undefined)
  return { ...result, output: { ...result.output, skill_name, resource_path, ...(next && { next }) } }
}
