/** Why a plugin is not installed, changed or removed; a sentence without its full stop. What was there before is there still. */
export class UserError extends Error {}
