export { createCredential } from './auth.js'
export { signIn, signOut, type SignIn } from './oauth.js'
export { authType, fixed, type Auth, type Credential, type CredentialLookup, type RequestAuth, type Resolve } from './types.js'
