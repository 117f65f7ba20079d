import { ok, type Complete, type Handler } from '../../core/index.js'

/** Returns a skill as `load_skill` does. */
export default (async ({ input: { name } }, { call }) => {
  const loaded = await call('load_skill', { name })
  if (!loaded.ok && loaded.error.code === 'VT_SKILL_UNKNOWN')
    return { ...loaded, error: { ...loaded.error, code: 'VT_PATH_NOT_FOUND' } }
  return loaded.ok ? ok({ name }, { text: loaded.text ?? '' }) : loaded
}) satisfies Handler<{ name: string }>

export const complete: Complete = (_, value, { host }) =>
  host.skills().catalogue.flatMap(({ name }) => (name.startsWith(value) ? [name] : []))
