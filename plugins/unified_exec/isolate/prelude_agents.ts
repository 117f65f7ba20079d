/**
 * Functions of a script that start agents: `agent` for one, `parallel` for several tasks at once, `pipeline` for items
 * that pass through stages. A task that fails gives `null` and prints its error, so that the others are not lost.
 */
export const agentsCode = `
const agent = (message, options = {}) =>
  request({ op: 'agent', input: stringify({ ...options, message: String(message), background: false }, toPlain) })
async function attempt(task) {
  try {
    return await (typeof task === 'function' ? task() : task)
  } catch (error) {
    print('stderr', [error])
    return null
  }
}
const parallel = (tasks) => Promise.all([...tasks].map(attempt))
const pipeline = (items, ...stages) =>
  parallel(
    [...items].map((item, index) => async () => {
      let value = item
      for (const stage of stages) value = await stage(value, item, index)
      return value
    }),
  )
`
