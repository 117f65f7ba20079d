export { findSkill, loadedIn, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './load.js'
export { validateSkill, type Complaint } from './validate.js'
