/** Endings of settings files in a data format. */
export const DATA_ENDINGS = ['json', 'yaml', 'yml']
/** Endings of settings files in code. */
export const CODE_ENDINGS = ['ts', 'mts', 'js', 'mjs', 'cjs']
const ENDINGS = [...CODE_ENDINGS, ...DATA_ENDINGS]

const addEndings = (stem: string, endings: readonly string[]): string[] => endings.map((end) => `${stem}.${end}`)

/** Places in the folder of the administrator. */
export const MANAGED_PLACES = addEndings('vtcode.config', DATA_ENDINGS)
/** Places in the `.vtcode` folder of the user. */
export const OWN_PLACES = addEndings('vtcode.config', ENDINGS)
/** Places of cosmiconfig's default for a tool, without endings: a file of this name is YAML. */
export const RC_PLACES = ['.vtcoderc', '.config/vtcoderc'].flatMap((stem) => [stem, ...addEndings(stem, ENDINGS)])
/** Places in a workspace; only one of them and of `STATE_PLACES` may exist. */
export const WORKSPACE_PLACES = [...OWN_PLACES, ...RC_PLACES, 'package.json']
/** Places in the `.vtcode` folder of a workspace. */
export const STATE_PLACES = addEndings('.vtcode/config', DATA_ENDINGS)
/** Places of settings that are not shared with others; they override the other file. */
export const LOCAL_PLACES = addEndings('.vtcode/config.local', DATA_ENDINGS)
