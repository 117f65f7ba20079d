/** Adds the licence of a package that dist contains. Throws if it has no text. */
export function keepLicence(folder: string): void
/** Describes the authors of grammars. Throws for an unknown grammar. */
export function describeGrammars(folder: string, languages: readonly string[]): string
