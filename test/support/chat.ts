import { hold } from './inside.js'
import { home, startPeer } from './peer.js'
import { drawn, type Shape } from './screen.js'

export interface ChatShape extends Shape {
  files?: Record<string, string>
  /** Settings in addition to those of the model. */
  extra?: Parameters<typeof home>[2]
  /** Starts the program as a process: for what a process does at its start, by signals and at its end. */
  process?: boolean
}

/** A person at a terminal, with the chat on it and a model that answers by the script, until the test ends. */
export async function chat(
  script: Parameters<typeof startPeer>[0],
  words = ['chat'],
  { files, extra, process = false, ...how }: ChatShape = {},
) {
  const peer = hold(await startPeer(script))
  const place = hold(await home(peer, files, extra))
  return { peer, place, ...(await drawn(place, words, { inside: !process, ...how })) }
}
