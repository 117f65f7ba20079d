/** Returns an equal answer that calls `onEnd` after its end. */
export function callWhenRead(reply: Response, onEnd: () => void | Promise<void>): Response {
  const reader = reply.body?.getReader()
  if (!reader) {
    void onEnd()
    return reply
  }
  const body = new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read()
        if (!done) return controller.enqueue(value)
        controller.close()
      } catch (error) {
        controller.error(error)
      }
      await onEnd()
    },
    async cancel(reason) {
      await reader.cancel(reason).catch(() => {})
      await onEnd()
    },
  })
  const { status, statusText, headers } = reply
  return new Response(body, { status, statusText, headers })
}
