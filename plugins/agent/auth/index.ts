export { createCredential } from './auth.js'
export { signIn, signOut, type SignIn } from './oauth.js'
export { authType, createFixedCredential, type Auth } from './types.js'
export type { Credential, CredentialLookup, Resolve } from './types.js'
