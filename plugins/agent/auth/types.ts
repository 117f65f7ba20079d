import type { Settings } from '../../../core/shapes/index.js'

/** The authorization of a provider's requests, as the settings declare it. */
export type Auth = NonNullable<Settings['custom_providers'][number]['auth']>

/** Returns the type of an `auth`; a command alone implies its type. */
export const authType = ({ type, command }: Auth): Auth['type'] =>
  type ?? (command === undefined ? undefined : 'command')

/** The credential of one provider. */
export interface Credential {
  /** Returns the authorization of a request; called for each request. */
  read(): Promise<RequestAuth>
  /** Drops a refused credential; returns true if another one can be tried. */
  refresh(): boolean
}
/**
 * The authorization of one request. The client library places `key`; headers and parameters are added unchanged;
 * `sign` covers the whole request.
 */
export interface RequestAuth {
  key?: string
  headers?: Record<string, string>
  query?: Record<string, string>
  sign?: (request: SignableRequest) => Promise<Headers>
}
/** A request before its signature. */
export interface SignableRequest {
  method: string
  url: URL
  headers: Headers
  body: RequestInit['body']
}

/** Resolves a typed value of an entry to its text; `field` names its place. Throws VT_LLM_AUTH. */
export type Resolve = (value: unknown, field: string) => Promise<string>
/** The resolver and folders for credentials; no program of the workspace is started for them. */
export interface CredentialLookup {
  resolve: Resolve
  workspace: string
  /** The `.vtcode` folder of the user. */
  home: string
}

export const createFixedCredential = (auth: RequestAuth): Credential => ({
  read: async () => auth,
  refresh: () => false,
})
