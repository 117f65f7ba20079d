/** The reason why a plugin was not installed, changed or removed; a sentence without its full stop. */
export class UserError extends Error {}
