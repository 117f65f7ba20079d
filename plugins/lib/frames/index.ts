export { createMessageSplitter, type MessageReceiver, type RequestId } from './message_splitter.js'
