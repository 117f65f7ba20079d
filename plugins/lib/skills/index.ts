export {
  parsePromptParts,
  describeEffects,
  listPrompts,
  insertArguments,
  type PromptPart,
  type UserPrompt,
} from './command.js'
export {
  findSkill,
  getLoadedSkills,
  openFolder,
  toCallerPath,
  readSkill,
  listSkillResources,
  unknownSkill,
} from './load.js'
export { validateSkill, type Complaint } from './validate.js'
