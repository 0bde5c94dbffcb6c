/** The program of the threads that parse messages. */
import { readMessages } from './read-messages.ts'
import { makeReader } from './reader.ts'

readMessages(makeReader())
