/** No objection is undefined; there is no "allow", so that no policy opens what another one shut. */
export default function keepReleases({ input }) {
  return /(^|\/)release\//.test(String(input.path)) ? { ask: `${input.path} belongs to a release.` } : undefined
}
