export { promptParts, deedsOf, personsPrompts, withArguments, type PromptPart, type PersonsPrompt } from './command.js'
export { findSkill, loadedIn, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './load.js'
export { validateSkill, type Complaint } from './validate.js'
