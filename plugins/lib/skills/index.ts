export {
  parsePromptParts,
  describeEffects,
  listPrompts,
  insertArguments,
  type PromptPart,
  type UserPrompt,
} from './command.js'
export { findSkill, getLoadedSkills, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './load.js'
export { validateSkill, type Complaint } from './validate.js'
