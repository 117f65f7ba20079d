import { ok, type Handler } from '../../core/index.js'

/** `agents/begin`: what the conversation calls in mode ask before an agent that changes files begins. Policies and people judge it; it does nothing itself. */
export default (() => ok({}, { text: 'It may begin.' })) satisfies Handler<object>
