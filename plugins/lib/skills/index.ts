export { findSkill, loadedIn, openFolder, pathOf, readSkill, resourcesOf, unknownSkill } from './load.js'
export { validate, type Complaint } from './validate.js'
