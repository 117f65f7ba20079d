import type { Settings } from '../../../core/shapes/index.js'

/** How a provider wants its requests authorized, as the settings declare it. */
export type Auth = NonNullable<Settings['custom_providers'][number]['auth']>

/** Returns the type of an `auth`; a command alone implies its type. */
export const authType = ({ type, command }: Auth): Auth['type'] =>
  type ?? (command === undefined ? undefined : 'command')

/** What opens the door of one provider, and of no other. */
export interface Credential {
  /** Asked for at each request. */
  read(): Promise<RequestAuth>
  /** After a refusal: true when a fresh one can be tried. */
  refresh(): boolean
}
/** A key goes where the client library puts keys; headers and parameters go as they are; a signature is made of the whole request. */
export interface RequestAuth {
  key?: string
  headers?: Record<string, string>
  query?: Record<string, string>
  sign?: (request: SignableRequest) => Promise<Headers>
}
/** A request as it leaves. */
export interface SignableRequest {
  method: string
  url: URL
  headers: Headers
  body: RequestInit['body']
}

/** The text that a typed value of an entry stands for; `field` names its place. Throws VT_LLM_AUTH. */
export type Resolve = (value: unknown, field: string) => Promise<string>
/** How what an entry names is found; no program of the workspace is started for it. */
export interface CredentialLookup {
  resolve: Resolve
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
}

export const fixed = (door: RequestAuth): Credential => ({ read: async () => door, refresh: () => false })
