import type { Contribution, Effect, Settings } from '../shapes/index.js'
import type { OpenWorkspace } from '../workspace/index.js'
import type { Host } from '../contract/index.js'

/** The services that a generation supplies to every context. */
export interface ContextServices {
  readonly settings: Settings
  readonly workspace: OpenWorkspace
  /** The workspace without the files that rules hide from tools; handlers get this one. */
  readonly filtered: OpenWorkspace
  readonly host: Host
  readonly log: (level: string, message: string) => void
  readonly changed: (uri: string) => void
  readonly findDataFolder: (contribution: Contribution) => string
  /** Returns whether the code of a contribution is not part of the program. */
  readonly hasForeignCode: (contribution: Contribution) => boolean
  /** Lists the effects of a contribution and of its folder or plugin. */
  readonly listRights: (contribution: Contribution) => readonly Effect[]
}
